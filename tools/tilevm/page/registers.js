/* Registers that tiles take, along the ops. */
function registers_section(view) {
    const kernel = view.kernel, ops = kernel.ops, most = Math.max(1, ...ops.map(op => op.registers));
    if (!ops.some(op => op.registers))
        return null;
    const width = 1000, height = 240, left = 44, bottom = 24, top = 12;
    const x = i => left + (width - left - 8) * i / Math.max(1, ops.length);
    const y = n => height - bottom - (height - bottom - top) * n / most;
    const path = ["M", x(0), y(0), ...ops.flatMap((op, i) => ["L", x(i), y(op.registers), "L", x(i + 1), y(op.registers)]),
                  "L", x(ops.length), y(0), "Z"].join(" ");
    const steps = [0, .25, .5, .75, 1].map(part => Math.round(part * most));
    const cursor = svg("line", {class: "cursor", y1: top, y2: height - bottom});
    const drawing = svg("svg", {viewBox: `0 0 ${width} ${height}`, class: "along"},
        [...new Set(steps)].map(n => [svg("line", {class: "grid", x1: left, x2: width - 8, y1: y(n), y2: y(n)}),
                                      svg("text", {x: left - 6, y: y(n) + 4, "text-anchor": "end"}, n)]),
        svg("path", {class: "area", d: path}), cursor,
        svg("text", {class: "dim", x: width - 8, y: height - 6, "text-anchor": "end"}, "ops, in their order →"));
    const said = el("p", {class: "said mono"});
    const words = i => `${ops[i].text}: ${count(ops[i].registers, "register")}`;
    const at_of = event => {
        const box = drawing.getBoundingClientRect();
        return Math.floor(((event.clientX - box.left) * width / box.width - left) / (width - left - 8) * ops.length);
    };
    const move = i => {
        cursor.setAttribute("x1", x(i + .5));
        cursor.setAttribute("x2", x(i + .5));
        said.textContent = words(i);
    };
    slider(drawing, "Registers of a thread that hold tiles, along the ops", ops.length - 1, at_of, words, move,
           i => view.go("op", i));
    view.followers.push((kind, key, linked) => linked.op.size && move(Math.min(...linked.op)));
    return section("registers", "Registers",
        el("figure", {}, el("figcaption", {}, "32-bit registers of a thread that hold tiles while an op runs, at most ",
            kernel.registers_held, ". Addresses, counters and what ptxas keeps besides are not in it; the model expects ",
            kernel.cost.registers, " registers in all. A click shows the op."), drawing), said);
}
