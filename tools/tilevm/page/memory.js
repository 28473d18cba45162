/* Shared memory over the ops: who has which bytes, and where threads meet. */
function memory_section(view) {
    const kernel = view.kernel, spans = kernel.shared, ops = kernel.ops;
    if (!kernel.shared_bytes || !spans.length)
        return null;
    const width = 1000, height = 300, left = 70, bottom = 24, top = 18;
    const x = i => left + (width - left - 8) * i / ops.length;
    const y = n => top + (height - top - bottom) * n / kernel.shared_bytes;
    const parts = spans.map(span => {
        const ring = span.ring === undefined ? null : kernel.rings[span.ring];
        const w = Math.max(2, x(span.last + 1) - x(span.first)), h = Math.max(1.5, y(span.to) - y(span.from));
        const drawn = [svg("rect", {class: ring ? "fill-a soft edge" : "fill-b edge", x: x(span.first), y: y(span.from), width: w, height: h})];
        for (let slot = 1; ring && slot < ring.slots; slot++) {
            const at = y(span.from + slot * ring.slot_bytes);
            drawn.push(svg("line", {class: "grid", x1: x(span.first), x2: x(span.first) + w, y1: at, y2: at}));
        }
        for (let slot = 0; ring && slot < ring.slots && h / ring.slots > 12; slot++)
            drawn.push(svg("text", {x: x(span.first) + 6, y: y(span.from + (slot + .5) * ring.slot_bytes) + 4}, "stage " + slot));
        return drawn;
    });
    const meetings = kernel.barriers.map(at => svg("line", {class: "axis", "stroke-dasharray": at.of === "warp" ? "1 3" : "4 3",
        x1: x(at.op), x2: x(at.op), y1: top - 8, y2: height - bottom}));
    const steps = [0, .25, .5, .75, 1].map(part => Math.round(part * kernel.shared_bytes));
    const cursor = svg("line", {class: "cursor", y1: top, y2: height - bottom});
    const drawing = svg("svg", {viewBox: `0 0 ${width} ${height}`, class: "along"},
        steps.map(n => [svg("line", {class: "grid", x1: left, x2: width - 8, y1: y(n), y2: y(n)}),
                        svg("text", {x: left - 6, y: y(n) + 4, "text-anchor": "end"}, bytes(n))]),
        parts, meetings, cursor, svg("text", {class: "dim", x: width - 8, y: height - 6, "text-anchor": "end"}, "ops, in their order →"));
    const holders = i => spans.filter(span => span.first <= i && i <= span.last).map(span =>
        `bytes ${span.from} to ${span.to}: ` + (span.ring === undefined ? "scratch of " + ops[span.first].name +
            (span.of_warp ? `, ${span.of_warp} of each warp` : "") : `ring of ${kernel.rings[span.ring].slots} stages, copied by ${kernel.rings[span.ring].copied_by}`));
    const meets = i => kernel.barriers.filter(at => at.op === i).map(at => at.of === "warp" ? "each warp waits for its threads before it" : "all threads wait for each other before it");
    const words = i => [ops[i].text, ...meets(i), ...holders(i)].join("; ");
    const said = el("p", {class: "said mono"});
    const move = i => {
        cursor.setAttribute("x1", x(i + .5));
        cursor.setAttribute("x2", x(i + .5));
        said.replaceChildren(...[ops[i].text, ...meets(i), ...holders(i)].flatMap((line, n) => [n ? el("br") : "", line]));
    };
    const at_of = event => {
        const box = drawing.getBoundingClientRect();
        return Math.floor(((event.clientX - box.left) * width / box.width - left) / (width - left - 8) * ops.length);
    };
    slider(drawing, "Shared memory along the ops", ops.length - 1, at_of, words, move, i => view.go("op", i));
    view.followers.push((kind, key, linked) => linked.op.size && move(Math.min(...linked.op)));
    return section("memory", "Shared memory",
        el("figure", {}, el("figcaption", {}, `Who has which of the ${bytes(kernel.shared_bytes)}, from the first op on the left to the last. `,
            "A click shows the op."), el("p", {},
            el("span", {class: "key"}, el("i", {style: "background: var(--a); opacity: .5"}), "stages of a ring"),
            el("span", {class: "key"}, el("i", {style: "background: var(--b)"}), "scratch of an op"),
            kernel.barriers.length ? "dashed: a barrier; dotted: of a warp" : ""), drawing), said);
}
