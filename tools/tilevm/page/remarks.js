/* What was vectorised, pipelined, converted, and what was not, and why. */
function remark_item(kernel, remark, view) {
    const codes = view ? kernel.codes_of(remark) : [];
    const where = codes.length ? [el("button", {type: "button", class: "link", click: () => view.go("code", codes[0])},
                                     "op " + codes[0] + ", " + remark.op), ": "] : remark.op && view ? [remark.op, ": "] : [];
    return el("li", {class: remark.kind, "data-kind": remark.kind}, el("span", {class: "kind"}, remark.kind), " ",
              el("span", {class: "dim"}, remark.name), " ", where, remark.message);
}

function remarks_section(view) {
    const kernel = view.kernel, categories = [...new Set(kernel.remarks.map(remark => remark.category))];
    const list = el("div");
    const show = kind => {
        list.replaceChildren(...categories.map(category => {
            const chosen = kernel.remarks.filter(r => r.category === category && (kind === "all" || r.kind === kind));
            return chosen.length ? el("div", {}, el("h3", {}, category), el("ul", {class: "remarks"},
                chosen.map(remark => remark_item(kernel, remark, view)))) : "";
        }));
    };
    show("all");
    return section("remarks", "Decisions and their reasons",
        choice("Which remarks", ["all", "passed", "missed", "analysis"], "all", show), list);
}
