/* Source lines, ops and PTX beside each other. What is chosen in one is highlighted in the others. */

/* A list of lines with one that is chosen: arrow keys go on from it. rows: {key, number, text, badges}. */
class Pane {
    constructor(kind, title, rows, choose, tools) {
        this.kind = kind;
        this.choose = choose;
        this.list = el("div", {class: "lines", role: "listbox", tabindex: 0, "aria-label": title, "data-kind": kind,
                               click: event => this.clicked(event), keydown: event => this.key(event)});
        this.show(rows);
        this.element = el("div", {class: "pane"}, el("div", {class: "row"}, el("h3", {}, title), tools), this.list);
    }

    show(rows) {
        this.rows = new Map();
        this.order = [];
        this.chosen = null;
        const items = rows.map((row, i) => {
            const choosable = row.key !== undefined;
            const item = el("div", {role: "option", id: "pane-" + this.kind + "-" + i, "aria-selected": "false",
                                    "aria-disabled": choosable ? null : "true", class: choosable ? null : "none"},
                            el("span", {class: "no"}, row.number), row.text,
                            row.times === undefined ? "" : el("span", {class: "badge times"}, "× " + grouped(row.times)),
                            (row.badges || []).map(kind => el("span", {class: "badge " + kind}, kind)));
            if (choosable) {
                this.rows.set(row.key, item);
                this.order.push(row.key);
                item.dataset.at = this.order.length - 1;
            }
            return item;
        });
        this.list.replaceChildren(...items);
    }

    clicked(event) {
        const item = event.target.closest("[data-at]");
        if (item)
            this.choose(this.kind, this.order[item.dataset.at]);
    }

    key(event) {
        const at = this.chosen === null ? -1 : Number(this.rows.get(this.chosen).dataset.at);
        const step = {ArrowDown: 1, ArrowUp: -1, PageDown: 20, PageUp: -20}[event.key];
        const to = event.key === "Home" ? 0 : event.key === "End" ? this.order.length - 1 : step ? at + step : null;
        if (to === null || !this.order.length)
            return;
        event.preventDefault();
        this.choose(this.kind, this.order[Math.max(0, Math.min(this.order.length - 1, to))]);
    }

    /* keys: what is highlighted; chosen: which of these was chosen here, or null. */
    highlight(keys, chosen) {
        for (const item of this.list.querySelectorAll(".near, .chosen"))
            item.classList.remove("near", "chosen");
        for (const item of this.list.querySelectorAll('[aria-selected="true"]'))
            item.setAttribute("aria-selected", "false");
        let first = null;
        for (const [key, item] of this.rows)
            if (keys.has(key)) {
                item.classList.add(key === chosen ? "chosen" : "near");
                item.setAttribute("aria-selected", "true");
                first = first || item;
            }
        this.chosen = this.rows.has(chosen) ? chosen : keys.size ? [...keys].find(key => this.rows.has(key)) ?? null : null;
        const shown = this.rows.get(this.chosen) || first;
        this.list.setAttribute("aria-activedescendant", shown ? shown.id : "");
        if (shown)
            this.bring(shown);
    }

    /* Into the list's own view; the page stays where it is. */
    bring(item) {
        const top = item.offsetTop, list = this.list;
        if (top < list.scrollTop || top + item.offsetHeight > list.scrollTop + list.clientHeight)
            list.scrollTop = Math.max(0, top - list.clientHeight / 3);
    }
}

function source_rows(kernel) {
    const rows = [];
    for (const source of kernel.sources) {
        rows.push({number: "", text: source.file});
        if (source.text === undefined) {
            const lines = [...kernel.codes_at.keys()].filter(place => place.startsWith(source.file + ":"))
                .map(place => Number(place.slice(source.file.length + 1))).sort((a, b) => a - b);
            rows.push({number: "", text: "(the file is not at hand: --source DIR)"});
            for (const line of lines)
                rows.push({key: source.file + ":" + line, number: line, text: "line " + line});
            continue;
        }
        source.text.replace(/\n$/, "").split("\n").forEach((text, i) => {
            const key = source.file + ":" + (i + 1);
            rows.push({key: kernel.codes_at.has(key) ? key : undefined, number: i + 1, text: text.replace(/\r$/, "")});
        });
    }
    return rows;
}

function kinds_of(kernel, code) {
    const kinds = new Set(kernel.code[code] ? kernel.remarks_of(code).map(remark => remark.kind) : []);
    return ["passed", "missed"].filter(kind => kinds.has(kind));
}

function code_rows(kernel, run) {
    const rows = kernel.code.map((op, i) => ({key: i, number: i, text: "  ".repeat(op.depth) + op.text,
                                              badges: kinds_of(kernel, i),
                                              times: run ? run.counts[i] : undefined}));
    if (kernel.code_left_out)
        rows.push({number: "", text: count(kernel.code_left_out, "more op") + " left out"});
    return rows;
}

function op_rows(kernel) {
    const rows = kernel.ops.map((op, i) => ({
        key: i, number: op.number, text: "  ".repeat(op.depth) + op.text,
        badges: kernel.ops_of_code[op.number] && kernel.ops_of_code[op.number].at(0) === i ? kinds_of(kernel, op.number) : []
    }));
    if (kernel.ops_left_out)
        rows.push({number: "", text: count(kernel.ops_left_out, "more op") + " left out"});
    return rows;
}

function ptx_rows(kernel) {
    const rows = kernel.ptx_lines.map((text, i) => ({key: i + 1, number: i + 1, text: text.replace(/^\t/, "    ")}));
    if (kernel.ptx_left_out)
        rows.push({number: "", text: count(kernel.ptx_left_out, "more line") + " left out"});
    return rows;
}

/* What there is to say about what was chosen. */
function about(kernel, linked, view) {
    const codes = [...linked.code], parts = [];
    if (!codes.length)
        return [el("p", {class: "dim"}, "This belongs to no op: it is for the whole kernel.")];
    for (const code of codes.slice(0, 4)) {
        const op = kernel.code[code];
        parts.push(el("p", {}, el("code", {}, op.text), " ",
                      el("span", {class: "dim"}, "op " + code + (op.line ? ", " + last_part(op.file) + ":" + op.line : ""))));
        const remarks = kernel.remarks_of(code);
        if (remarks.length)
            parts.push(el("ul", {class: "remarks"}, remarks.map(remark => remark_item(kernel, remark, null))));
    }
    const own = [...linked.op].map(i => kernel.ops[i]).filter(op => op.detail || op.registers || op.flops || op.bytes);
    if (own.length)
        parts.push(table("Ops that became of it", ["op", "what passes say", "registers", "flops", "bytes"],
            own.slice(0, 12).map(op => [el("code", {}, op.name), op.detail || "", op.registers || "",
                                        op.flops ? grouped(op.flops) : "", op.bytes ? grouped(op.bytes) : ""]), [2, 3, 4]));
    const values = [...linked.op].flatMap(i => kernel.ops[i].results || []).filter(v => kernel.values[v].layouts);
    if (values.length)
        parts.push(el("p", {}, "Layouts: ", values.slice(0, 8).flatMap((v, i) => [i ? ", " : "",
            el("button", {type: "button", class: "link", click: () => view.show_layout(v)}, kernel.values[v].name)])));
    return parts;
}

/* The section; gives it a method `choose`, and `on_choose` for others that follow. */
function code_section(view) {
    const kernel = view.kernel, source = source_rows(kernel);
    const choose = (kind, key) => view.choose(kind, key);
    const panes = [];
    if (source.length)
        panes.push(new Pane("source", "Source", source, choose));
    const names = kernel.uncompiled ? ["as written"] : ["as compiled", "as written"];
    const rows_of = name => name === "as written" ? code_rows(kernel, view.run) : op_rows(kernel);
    const kind_of = name => name === "as written" ? "code" : "op";
    const ops = new Pane(kind_of(names[0]), "Ops", rows_of(names[0]), choose, choice("Which ops", names, names[0], name => {
        ops.kind = ops.list.dataset.kind = kind_of(name);
        ops.show(rows_of(name));
        if (view.chosen)
            view.choose(...view.chosen);
    }));
    panes.push(ops);
    if (!kernel.uncompiled)
        panes.push(new Pane("line", "PTX", ptx_rows(kernel), choose));
    const said = el("div", {id: "about", class: "card", "aria-live": "polite"},
                    el("p", {class: "dim"}, "Choose a line, by a click or with the arrow keys, to see what belongs to it."));
    view.followers.push((kind, key, linked) => {
        for (const pane of panes)
            pane.highlight(linked[pane.kind], pane.kind === kind ? key : null);
        said.replaceChildren(...about(kernel, linked, view));
    });
    return section("code", "Source, ops and PTX",
        el("p", {class: "dim"}, "As written: the ops of the bytecode. As compiled: what the passes have made of them, from ",
           "which the PTX is written. Numbers of ops are those of the disassembly."),
        el("div", {class: "panes panes-" + panes.length}, panes.map(pane => pane.element)), said);
}
