/* The roofline: what is computed for each byte that is moved, beside what the GPU can do. */

/* Operations and bytes of one iteration of a loop, with what it has around inner ones; `once`: inner loops count once. */
function work_of(kernel, loop) {
    const inside = kernel.ops.filter(op => op.role !== "producers" && op.role !== "starters" &&
                                           (loop === null || (kernel.is_inside(op.index, loop) && op.index !== loop)));
    return {flops: inside.reduce((sum, op) => sum + (op.flops || 0), 0), bytes: inside.reduce((sum, op) => sum + (op.bytes || 0), 0)};
}

/* The points: innermost loops, and all of the kernel where it has none or was run. */
function roofline_points(kernel, run) {
    const points = [];
    for (const loop of kernel.loops) {
        const inner = kernel.loops.some(other => other !== loop && kernel.is_inside(other.op, loop.op));
        const work = work_of(kernel, loop.op);
        if (!inner && work.flops && work.bytes)
            points.push({name: `loop, op ${kernel.ops[loop.op].number}`, op: loop.op, intensity: work.flops / work.bytes,
                         rate: work.flops * kernel.cost.blocks * kernel.machine.multiprocessors * kernel.machine.ghz * 1e9 / loop.taken});
    }
    const all = work_of(kernel, null);
    if (!kernel.loops.length && all.flops && all.bytes)
        points.push({name: "the kernel", intensity: all.flops / all.bytes});
    if (run && run.flops && run.bytes_loaded + run.bytes_stored)
        points.push({name: "the run, all accesses", intensity: run.flops / (run.bytes_loaded + run.bytes_stored)});
    return points;
}

function roofline_section(view) {
    const kernel = view.kernel, m = kernel.machine, points = roofline_points(kernel, view.run && view.run.stats);
    if (!points.length)
        return null;
    const peaks = [["f32", m.f32_flops_per_second]].concat(m.tensor_flops_per_second ? [["tensor cores", m.tensor_flops_per_second]] : []);
    const slopes = [["DRAM", m.dram_bytes_per_second], ["L2", m.l2_bytes_per_second]], top_rate = Math.max(...peaks.map(peak => peak[1]));
    const low = Math.min(.05, ...points.map(p => p.intensity / 2)), high = Math.max(1e4, ...points.map(p => p.intensity * 2));
    const floor = Math.min(low * m.dram_bytes_per_second, ...points.map(p => (p.rate || Infinity) / 2)), width = 900, height = 420, left = 90, bottom = 40;
    const x = n => left + (width - left - 20) * Math.log(n / low) / Math.log(high / low);
    const y = n => height - bottom - (height - bottom - 24) * Math.log(n / floor) / Math.log(top_rate * 1.5 / floor);
    const powers = (from, to) => Array.from({length: Math.floor(Math.log10(to)) - Math.ceil(Math.log10(from)) + 1}, (_, i) => 10 ** (Math.ceil(Math.log10(from)) + i));
    const roof = (name, bandwidth) => {
        const knee = top_rate / bandwidth;
        return [svg("path", {class: "roof", d: `M ${x(low)} ${y(low * bandwidth)} L ${x(Math.min(knee, high))} ${y(Math.min(top_rate, high * bandwidth))}`}),
                svg("text", {class: "dim", x: x(low * 3) + 10, y: y(low * 3 * bandwidth) + 14}, `${name} ${scaled(bandwidth, "B/s")}`)];
    };
    const attainable = p => Math.min(top_rate, p.intensity * m.dram_bytes_per_second);
    const marks = points.map((p, i) => svg("g", {role: "button", "aria-label": `${p.name}: ${p.intensity.toPrecision(3)} operations a byte` +
            (p.rate ? `, predicted ${scaled(p.rate, "FLOP/s")}` : `, at most ${scaled(attainable(p), "FLOP/s")} from DRAM`),
            click: () => p.op !== undefined && view.go("op", p.op)},
        svg("line", {class: "axis", "stroke-dasharray": "2 4", x1: x(p.intensity), x2: x(p.intensity), y1: y(floor), y2: 24}),
        svg("circle", {class: "fill-b", cx: x(p.intensity), cy: y(p.rate || attainable(p)), r: 7}),
        svg("text", {x: x(p.intensity) + (x(p.intensity) > width - 220 ? -12 : 12), y: y(p.rate || attainable(p)) + 18 + 15 * (i % 2),
                     "text-anchor": x(p.intensity) > width - 220 ? "end" : "start"}, p.name)));
    rove(marks);
    const drawing = svg("svg", {viewBox: `0 0 ${width} ${height}`, role: "group", "aria-label": "Roofline", style: "max-width: 56rem"},
        powers(low, high).map(n => [svg("line", {class: "grid", x1: x(n), x2: x(n), y1: 24, y2: height - bottom}),
                                    svg("text", {class: "dim", x: x(n), y: height - bottom + 16, "text-anchor": "middle"}, n)]),
        powers(floor, top_rate * 1.5).map(n => [svg("line", {class: "grid", x1: left, x2: width - 20, y1: y(n), y2: y(n)}),
                                                svg("text", {class: "dim", x: left - 6, y: y(n) + 4, "text-anchor": "end"}, scaled(n, "FLOP/s"))]),
        svg("text", {class: "dim", x: width - 20, y: height - 6, "text-anchor": "end"}, "floating-point operations for each byte of global memory →"),
        slopes.map(([name, bandwidth]) => roof(name, bandwidth)),
        peaks.map(([name, rate]) => [svg("line", {class: "roof", x1: x(Math.min(high, rate / m.l2_bytes_per_second)), x2: x(high), y1: y(rate), y2: y(rate)}),
                                     svg("text", {class: "dim", x: width - 24, y: y(rate) - 6, "text-anchor": "end"}, `${name} ${scaled(rate, "FLOP/s")}`)]), marks);
    return section("roofline", "Roofline",
        el("figure", {}, el("figcaption", {}, `Limits are those of the cost model for ${m.name} (datasheets and measurements, docs/internals/codegen.md). `,
            "A loop stands at what it computes for each byte that its loads and stores move, and as high as the model predicts; tiles that blocks share come from L2."), drawing));
}
