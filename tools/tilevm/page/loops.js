/* Loops: what an iteration takes of the multiprocessor, and the pipeline of stages and roles. */
const RESOURCES = {tensor: "tensor cores", shared: "shared memory", issue: "instructions", half: "at half rate",
                   special: "special functions", l2: "L2", dram: "DRAM", atomics: "atomics"};

/* The ring that the loop itself reads. */
function ring_of_loop(kernel, loop) {
    const read = kernel.ops.find(op => op.ring !== undefined && op.name === "staged" && kernel.loop_around(op.index) === loop.op);
    return read ? kernel.rings[read.ring] : null;
}

function bars(kernel, loop) {
    const cycles = Object.entries(RESOURCES).map(([key, name]) => [name, (loop.cycles[key] || 0) * kernel.cost.blocks])
        .concat([["latency, a block alone", loop.alone]]).filter(([, n]) => n > 0);
    const most = Math.max(...cycles.map(([, n]) => n)), height = cycles.length * 24;
    return svg("svg", {viewBox: `0 0 640 ${height}`, role: "img", style: "max-width: 40rem",
                       "aria-label": cycles.map(([name, n]) => `${name} ${Math.round(n)} cycles`).join(", ")},
        cycles.map(([name, n], i) => [
            svg("text", {x: 150, y: i * 24 + 16, "text-anchor": "end"}, name),
            svg("rect", {class: name === loop.bound || (loop.bound === "latency" && name.startsWith("latency")) ? "fill-b" : "fill-a soft",
                         x: 158, y: i * 24 + 4, width: Math.max(1, 400 * n / most), height: 16}),
            svg("text", {x: 164 + 400 * n / most, y: i * 24 + 16}, grouped(n))]));
}

/* When copies and iterations begin and end, by a simple rule: a copy begins when the one before it has been sent and its
   stage is free, and arrives a latency later; an iteration begins when its tiles are there and the one before it has
   ended. */
function pipeline(kernel, loop, ring) {
    const copy = Math.max(1, loop.cycles.l2 || 0), latency = kernel.machine.l2_latency, count = Math.min(12, 2 * ring.slots + 2);
    const busy = Math.max(1, ...["tensor", "shared", "issue", "half", "special"].map(key => (loop.cycles[key] || 0)));
    const behind = ring.freed_later ? 1 : 0, steps = [];
    for (let i = 0; i < count; i++) {
        const before = steps[i - 1], same = steps[i - ring.slots + behind];
        const sent = Math.max(before ? before.sent + copy : 0, same && i >= ring.slots - behind ? same.end : 0);
        const landed = sent + latency + copy, start = Math.max(landed, before ? before.end : 0);
        steps.push({sent, landed, start, end: start + busy, slot: i % ring.slots});
    }
    return steps;
}

function timeline(kernel, loop, ring) {
    const steps = pipeline(kernel, loop, ring), last = steps.at(-1).end, width = 1000, left = 150, row = 24;
    const x = t => left + (width - left - 10) * t / last;
    const box = (name, i, from, to, y, soft) => [
        svg("rect", {class: `${name} ${soft ? "soft " : ""}edge`, x: x(from), y: y * row + 22, width: Math.max(1, x(to) - x(from)), height: row - 4, rx: 2}),
        x(to) - x(from) > 16 ? svg("text", {class: soft ? null : "on", x: (x(from) + x(to)) / 2, y: y * row + 37, "text-anchor": "middle"}, i) : ""];
    const by = (who, what) => ring.between_groups ? `${who}: ${what}` : what;
    const rows = [by("producers", "copies"), by("consumers", "iterations"), ...Array.from({length: ring.slots}, (_, i) => "stage " + i)];
    const ticks = [0, .25, .5, .75, 1].map(part => part * last);
    return svg("svg", {viewBox: `0 0 ${width} ${rows.length * row + 30}`, role: "img", class: "timeline", "aria-label":
            `Pipeline of ${ring.slots} stages: ` + steps.slice(0, 4).map((s, i) =>
                `copy ${i} is sent at cycle ${Math.round(s.sent)}, arrives at ${Math.round(s.landed)} in stage ${s.slot}, and is read from ${Math.round(s.start)} to ${Math.round(s.end)}`).join("; ")},
        ticks.map(t => [svg("line", {class: "grid", x1: x(t), x2: x(t), y1: 16, y2: rows.length * row + 22}),
                        svg("text", {class: "dim", x: x(t), y: 12, "text-anchor": t ? t === last ? "end" : "middle" : "start"}, grouped(t))]),
        rows.map((name, i) => svg("text", {x: left - 8, y: i * row + 37, "text-anchor": "end"}, name)),
        steps.map((s, i) => [box("fill-a", i, s.sent, s.sent + Math.max(1, loop.cycles.l2 || 0), 0), box("fill-c", i, s.start, s.end, 1),
                             box("fill-a", i, s.sent, s.landed, 2 + s.slot, true), box("fill-d", "", s.landed, s.start, 2 + s.slot, true),
                             box("fill-c", i, s.start, s.end, 2 + s.slot)]));
}

function timeline_part(kernel, loop, ring) {
    const key = (colour, text, soft) => el("span", {class: "key"}, el("i", {style: `background: var(--${colour})${soft ? "; opacity: .5" : ""}`}), text);
    const who = ring.between_groups ? "producers" : "copies", reads = ring.between_groups ? "consumers" : "the same threads";
    return el("figure", {}, el("figcaption", {}, `${ring.slots} stages of ${bytes(ring.slot_bytes)}, filled by ${ring.copied_by} (${who}), `,
        `read by ${reads}`, ring.why ? ": " + ring.why : "", ". Drawn in cycles from the cost model's figures by a simple rule, not measured: ",
        "iterations have numbers, and each row of a stage shows the copy on its way, the tiles waiting, and the iteration that reads them."),
        el("p", {}, key("a", "copy is sent"), key("a", "on its way", true), key("d", "waits", true), key("c", "is computed with")),
        timeline(kernel, loop, ring));
}

/* Ops of an iteration that take most of the busiest resource. */
function dearest(kernel, loop) {
    const rows = kernel.ops.filter(op => kernel.loop_around(op.index) === loop.op && Object.keys(op.cycles).length)
        .map(op => [op, Math.max(...Object.values(op.cycles))]).sort((a, b) => b[1] - a[1]).slice(0, 6);
    return rows.map(([op]) => op);
}

function loop_part(view, loop) {
    const kernel = view.kernel, op = kernel.ops[loop.op], ring = ring_of_loop(kernel, loop), ops = dearest(kernel, loop);
    const code = kernel.code[op.number];
    return el("div", {class: "card loop"}, el("h3", {}, el("button", {type: "button", class: "link", click: () => view.go("op", loop.op)},
        `${op.name}, op ${op.number}` + (code && code.line ? `, ${last_part(code.file)}:${code.line}` : ""))),
        el("p", {}, `${grouped(loop.taken)} cycles for an iteration of ${kernel.cost.blocks === 1 ? "the block" : "all " + kernel.cost.blocks + " blocks"} of a multiprocessor, bound by `,
           el("strong", {}, loop.bound), loop.iterations !== undefined ? `; ${count(loop.iterations, "iteration")}` : ""),
        el("figure", {}, el("figcaption", {}, "Cycles that an iteration takes of each resource."), bars(kernel, loop)),
        ring ? timeline_part(kernel, loop, ring) : el("p", {class: "dim"}, "No load of this loop goes through stages of shared memory."),
        ops.length ? el("details", {}, el("summary", {}, "Ops that take most"), table("Ops that take most", ["op", ...Object.values(RESOURCES)],
            ops.map(o => [el("button", {type: "button", class: "link", click: () => view.go("op", o.index)}, o.text.slice(0, 60)),
                          ...Object.keys(RESOURCES).map(key => o.cycles[key] ? grouped(o.cycles[key]) : "")]), [1, 2, 3, 4, 5, 6, 7, 8])) : "");
}

function loops_section(view) {
    const kernel = view.kernel;
    if (!kernel.loops.length)
        return null;
    return section("loops", "Loops", kernel.loops.map(loop => loop_part(view, loop)));
}
