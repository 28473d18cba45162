/* Two versions of a kernel beside each other. */

/* The longest common subsequence of keys, as pairs of positions: Myers' algorithm; beyond most differences, none. */
function common(a, b, most) {
    let start = 0, end_a = a.length, end_b = b.length;
    while (start < end_a && start < end_b && a[start] === b[start])
        start++;
    while (end_a > start && end_b > start && a[end_a - 1] === b[end_b - 1]) {
        end_a--;
        end_b--;
    }
    const n = end_a - start, m = end_b - start, pairs = [], traces = [], far = new Map([[1, 0]]);
    for (let i = 0; i < start; i++)
        pairs.push([i, i]);
    let found = -1;
    for (let d = 0; d <= Math.min(n + m, most) && found < 0; d++) {
        traces.push(new Map(far));
        for (let k = -d; k <= d && found < 0; k += 2) {
            const down = k === -d || (k !== d && (far.get(k - 1) ?? -1) < (far.get(k + 1) ?? -1));
            let x = down ? far.get(k + 1) ?? 0 : far.get(k - 1) + 1, y = x - k;
            while (x < n && y < m && a[start + x] === b[start + y]) {
                x++;
                y++;
            }
            far.set(k, x);
            if (x >= n && y >= m)
                found = d;
        }
    }
    const middle = [];
    for (let d = found, x = n, y = m; d >= 0; d--) {
        const before = traces[d], k = x - y;
        const down = k === -d || (k !== d && (before.get(k - 1) ?? -1) < (before.get(k + 1) ?? -1));
        const from_k = down ? k + 1 : k - 1, from_x = d ? before.get(from_k) ?? 0 : 0, from_y = d ? from_x - from_k : 0;
        while (x > from_x && y > from_y && x > 0 && y > 0 && a[start + x - 1] === b[start + y - 1]) {
            x--;
            y--;
            middle.push([start + x, start + y]);
        }
        x = from_x;
        y = from_y;
    }
    pairs.push(...middle.reverse());
    for (let i = 0; i < a.length - end_a; i++)
        pairs.push([end_a + i, end_b + i]);
    return pairs;
}

/* Rows of both texts: [left, right], of which one may be missing; numbers of registers and values make no difference. */
function aligned(left, right) {
    const key = text => text.replace(/%[rdphbf]+\d+|%t\d+|\$L\d+|@0x[0-9a-f]+/g, "%").replace(/\/\/ op \d+/, "// op").trim();
    const pairs = common(left.map(key), right.map(key), 3000), rows = [];
    let i = 0, j = 0;
    for (const [a, b] of pairs.concat([[left.length, right.length]])) {
        for (; i < a || j < b; ) {
            rows.push([i < a ? left[i] : null, j < b ? right[j] : null, false]);
            i += i < a;
            j += j < b;
        }
        if (a < left.length)
            rows.push([left[i++], right[j++], true]);
    }
    return rows;
}

/* What differs, with a few lines around it. */
function changes(title, left, right) {
    const AROUND = 3, rows = aligned(left, right), shown = new Array(rows.length).fill(false);
    rows.forEach((row, i) => !row[2] && shown.fill(true, Math.max(0, i - AROUND), i + AROUND + 1));
    const changed = rows.filter(row => !row[2]).length;
    if (!changed)
        return el("div", {}, el("h3", {}, title), el("p", {class: "dim"}, "The same."));
    const drawn = [];
    for (let i = 0; i < rows.length; ) {
        if (shown[i]) {
            const [a, b, same] = rows[i++];
            drawn.push(el("tr", {}, el("td", {class: same || a === null ? null : "removed"}, a ?? ""), el("td", {class: same || b === null ? null : "added"}, b ?? "")));
            continue;
        }
        let gap = 0;
        for (; i < rows.length && !shown[i]; i++)
            gap++;
        drawn.push(el("tr", {}, el("td", {class: "gap", colspan: 2}, `… ${count(gap, "line")} alike`)));
    }
    return el("details", {open: changed < 200}, el("summary", {}, el("strong", {}, title), `: ${count(changed, "line")} ${changed === 1 ? "differs" : "differ"}`),
        el("div", {class: "changed", tabindex: 0, role: "region", "aria-label": title}, el("table", {}, el("thead", {class: "hidden"}, el("tr", {}, el("th", {scope: "col"}, "before"), el("th", {scope: "col"}, "now"))),
            el("tbody", {}, drawn.slice(0, 4000)))));
}

function diff_section(view) {
    const now = view.kernel, other = view.report.other;
    if (!other)
        return null;
    const data = other.kernels.find(kernel => kernel.name === now.name) || other.kernels[0];
    if (!data)
        return section("diff", "Compared with the other version", el("p", {}, "It has no kernel."));
    const before = new Kernel(data, other), sum = (kernel, key) => kernel.ops.reduce((all, op) => all + (op[key] || 0), 0);
    const figures = [["target", k => k.target], ["threads of a block", k => k.threads], ["registers of a thread, predicted", k => k.cost.registers],
        ["registers that tiles take", k => k.registers_held], ["shared memory, bytes", k => k.shared_bytes], ["blocks on a multiprocessor", k => k.cost.blocks],
        ["barriers", k => k.barrier_count], ["ops of the bytecode", k => k.code.length], ["ops as compiled", k => k.ops.length], ["lines of PTX", k => k.ptx_lines.length],
        ["conversions of layouts", k => k.ops.filter(op => op.name === "convert").length], ["bytes moved by an execution of each op", k => sum(k, "bytes")],
        ["stages of rings", k => k.rings.map(ring => ring.slots).join(", ") || "none"],
        ["cycles of an iteration, by loop", k => k.loops.map(loop => Math.round(loop.taken)).join(", ") || "none"],
        ["plan", k => { const taken = (k.plans || []).find(plan => plan.taken); return taken ? plan_words(taken) || "no loop" : "not known"; }],
        ["cheapest plan", k => k.plans && k.plans.length ? k.plans[0].name : "not known"],
        ["predicted, cycles of a block", k => { const taken = (k.plans || []).find(plan => plan.taken); return taken ? Math.round(taken.cycles) : "not known"; }]];
    const words = remark => remark.name + " " + (remark.op || "") + ": " + remark.message;
    const rows = figures.map(([name, of]) => [name, of(before), of(now)]).map(([name, a, b]) => [name, String(a), a === b ? String(b) : el("strong", {}, String(b)),
        typeof a === "number" && typeof b === "number" && a && a !== b ? `${b > a ? "+" : "−"}${Math.abs((b - a) / a * 100).toFixed(0)} %` : a === b ? "" : "differs"]);
    return section("diff", "Compared with the other version",
        el("p", {class: "dim"}, `Before: ${other.file}, kernel ${before.name}, for ${other.target}. Now: ${view.report.file}, kernel ${now.name}.`),
        table("Figures of both", ["", "before", "now", "change"], rows),
        changes("Decisions", before.remarks.map(words).sort(), now.remarks.map(words).sort()),
        changes("Ops of the bytecode", before.code.map(op => "  ".repeat(op.depth) + op.text), now.code.map(op => "  ".repeat(op.depth) + op.text)),
        changes("Ops as compiled", before.ops.map(op => "  ".repeat(op.depth) + op.text), now.ops.map(op => "  ".repeat(op.depth) + op.text)),
        changes("PTX", before.ptx_lines, now.ptx_lines));
}
