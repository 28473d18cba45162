/* A run on the virtual machine: figures, heat maps, the order of accesses, races. */
function block_name(block) {
    return `(${block.join(", ")})`;
}

function op_button(view, code) {
    const op = view.kernel.code[code];
    return el("button", {type: "button", class: "link", click: () => view.go("code", code)},
              "op " + code + (op ? ", " + (op.text.match(/^(?:%[^=]*= )?([\w.]+)/) || ["", ""])[1] : "") +
              (op && op.line ? `, ${last_part(op.file)}:${op.line}` : ""));
}

function run_section(view) {
    const run = view.run, s = run.stats, kernel = view.kernel;
    const most = run.counts.map((n, i) => [n, i]).filter(([, i]) => kernel.code[i]).sort((a, b) => b[0] - a[0]).slice(0, 10);
    return section("run", "The run",
        el("p", {class: "dim"}, `On the virtual machine, with a grid of ${run.grid.join(" x ")} tile blocks` +
            (run.made_up ? "; some arguments were made up" : "") + "."),
        facts([["Tile blocks", grouped(s.blocks)], ["Ops", grouped(s.ops)], ["Loaded", bytes(s.bytes_loaded)], ["Stored", bytes(s.bytes_stored)],
               ["Floating-point operations", grouped(s.flops)], ["Time of the virtual machine", s.seconds < 1 ? (s.seconds * 1e3).toFixed(2) + " ms" : s.seconds.toFixed(2) + " s"]]),
        el("details", {}, el("summary", {}, "Ops that ran most often"),
            table("Ops that ran most often", ["op", "times"], most.map(([n, i]) => [op_button(view, i), grouped(n)]), [1])));
}

/* ---- heat maps ---- */

/* From low to high, in steps that the eye can tell apart in both schemes. */
function heat_colour(part) {
    const stops = [[68, 1, 84], [59, 82, 139], [33, 145, 140], [94, 201, 98], [253, 231, 37]];
    const at = Math.max(0, Math.min(1, part)) * (stops.length - 1), i = Math.min(stops.length - 2, Math.floor(at)), f = at - i;
    return `rgb(${stops[i].map((c, k) => Math.round(c + (stops[i + 1][k] - c) * f)).join(" ")})`;
}

/* A picture of cells with a cursor. */
function heat_map(title, heat) {
    const {rows, columns, cells} = heat, size = Math.max(4, Math.min(20, Math.floor(260 / Math.max(rows, columns))));
    const known = cells.filter(x => x !== null), low = Math.min(...known), high = Math.max(...known);
    const canvas = el("canvas", {width: columns * size, height: Math.max(rows * size, 12)}), context = canvas.getContext("2d");
    const height = Math.max(size, Math.floor(12 / rows));
    const stripes = getComputedStyle(document.documentElement).getPropertyValue("--bad");
    cells.forEach((x, i) => {
        context.fillStyle = x === null ? stripes : heat_colour(high > low ? (x - low) / (high - low) : .5);
        context.fillRect(i % columns * size, Math.floor(i / columns) * height, size, height);
    });
    const said = el("span", {class: "mono dim"});
    const words = i => `row ${Math.floor(i / columns)}, column ${i % columns}: ` + (cells[i] === null ? "no number" : cells[i]);
    const at_of = event => {
        const box = canvas.getBoundingClientRect();
        return Math.min(rows - 1, Math.floor((event.clientY - box.top) / box.height * rows)) * columns +
               Math.min(columns - 1, Math.floor((event.clientX - box.left) / box.width * columns));
    };
    slider(canvas, title, cells.length - 1, at_of, words, i => said.textContent = words(i), () => {});
    const parts = heat.shape.length ? Math.max(1, Math.round(heat.shape.reduce((a, b) => a * b, 1) / cells.length)) : 1;
    return el("figure", {class: "tile heat"}, el("figcaption", {}, el("strong", {}, title), el("br"),
        `${heat.element}[${heat.shape.join(", ")}]` + (parts > 1 ? `, a cell is the mean of about ${parts} elements` : ""), el("br"),
        known.length ? `${short(heat.min)} to ${short(heat.max)}` : "no number", heat.nan ? `, ${heat.nan} NaN` : "", heat.inf ? `, ${heat.inf} infinite` : ""), canvas, said);
}

function heat_section(view) {
    const run = view.run, arrays = run.arrays.filter(a => a.cells), tiles = (run.tiles || []).filter(t => t.cells);
    if (!arrays.length && !tiles.length)
        return null;
    const drawn = el("div", {class: "tiles"});
    const chooser = el("select", {id: "choose-heat", change: () => show(Number(chooser.value))}, tiles.map((tile, i) =>
        el("option", {value: i}, `op ${tile.op}: ${tile.element}[${tile.shape.join(", ")}]`)));
    const show = i => drawn.replaceChildren(el("div", {}, op_button(view, tiles[i].op), heat_map(`tile of op ${tiles[i].op}`, tiles[i])));
    if (tiles.length)
        show(tiles.length - 1);
    view.followers.push((kind, key, linked) => {
        const i = tiles.findIndex(tile => linked.code.has(tile.op));
        if (i >= 0) {
            chooser.value = i;
            show(i);
        }
    });
    if (tiles.length)
        chooser.value = tiles.length - 1;
    return section("heat", "Arrays and tiles",
        el("p", {class: "dim"}, "Low values are dark blue, high ones yellow; red cells hold no number."),
        el("div", {class: "tiles"}, arrays.map(array => heat_map(`array ${array.name}${array.written ? ", written" : ""}`, array))),
        tiles.length ? [el("h3", {}, "Tiles of the first tile block, as they were last"), el("div", {class: "row"}, el("label", {for: "choose-heat"}, "Tile"), chooser), drawn] : "");
}

/* ---- order ---- */

/* Tokens as arcs from an op to those that follow it. */
function token_arcs(view) {
    const run = view.run, ops = [...new Set(run.tokens.flat())].sort((a, b) => a - b), row = 26, width = 640;
    const y = op => ops.indexOf(op) * row + 20, reach = Math.max(1, ...run.tokens.map(([a, b]) => Math.abs(ops.indexOf(b) - ops.indexOf(a))));
    const names = ops.map(op => {
        const label = svg("g", {role: "button", "aria-label": `op ${op}, follows ` + (run.tokens.filter(([, b]) => b === op).map(([a]) => "op " + a).join(", ") || "nothing"),
                                click: () => view.go("code", op)}, svg("rect", {x: 150, y: y(op) - 13, width: 470, height: 20, fill: "transparent"}),
            svg("text", {x: 170, y: y(op) + 4}, `op ${op}  ` + (view.kernel.code[op] ? view.kernel.code[op].text.slice(0, 66) : "")));
        return label;
    });
    rove(names);
    return svg("svg", {viewBox: `0 0 ${width} ${ops.length * row + 10}`, role: "group", "aria-label": "Tokens", style: "max-width: 44rem"},
        svg("defs", {}, svg("marker", {id: "arrow", viewBox: "0 0 8 8", refX: 7, refY: 4, markerWidth: 7, markerHeight: 7, orient: "auto"},
            svg("path", {d: "M 0 0 L 8 4 L 0 8 z", class: "fill-a"}))),
        run.tokens.map(([a, b]) => {
            const far = 20 + 110 * Math.abs(ops.indexOf(b) - ops.indexOf(a)) / reach;
            return svg("path", {d: `M 158 ${y(a)} C ${158 - far} ${y(a)} ${158 - far} ${y(b)} 156 ${y(b)}`, fill: "none", style: "stroke: var(--a)",
                                "stroke-width": 1.5, "marker-end": "url(#arrow)"});
        }),
        ops.map(op => svg("circle", {class: "fill-a", cx: 160, cy: y(op), r: 4})), names);
}

function order_section(view) {
    const run = view.run;
    if (!run.tokens.length && !run.seen.length)
        return null;
    const rows = run.seen.slice(0, 200).map(({release, acquire}) => [block_name(release.block), op_button(view, release.op), block_name(acquire.block), op_button(view, acquire.op)]);
    return section("order", "The order of memory accesses",
        run.tokens.length ? el("figure", {}, el("figcaption", {}, "Tokens within a tile block: an arrow leads from an op to one that takes its token, and so comes after it. ",
            "Ops without a path of arrows between them may run in any order."), token_arcs(view)) : "",
        el("h3", {}, "Between tile blocks"),
        rows.length ? [el("p", {}, "In this run an acquire read what another tile block had released: everything before the release happens before everything after the acquire."),
            table("Releases and acquires", ["tile block", "releases at", "tile block", "acquires at"], rows),
            run.seen_cut || run.seen.length > 200 ? el("p", {class: "dim"}, "There are more.") : ""]
            : el("p", {class: "dim"}, "No tile block acquired anything that another one had released: nothing orders their accesses."));
}

/* ---- races ---- */

/* The schedule as a picture: a column for each tile block, steps from top to bottom, the two accesses last. */
function schedule(race) {
    const last = [{...race.first, end: true}, {...race.second, end: true}];
    const steps = race.schedule.concat(last), blocks = [...new Set(steps.map(step => step.block.join()))];
    const row = 34, column = 210, x = step => blocks.indexOf(step.block.join()) * column + 10;
    const words = step => step.end ? `op ${step.op} ${step.does}` : `up to op ${step.op}` + (step.times > 1 ? `, time ${step.times}` : "");
    return svg("svg", {viewBox: `0 0 ${Math.max(blocks.length * column, 420)} ${steps.length * row + 34}`, role: "img", class: "schedule",
            style: `max-width: ${Math.max(blocks.length * column, 420)}px`, "aria-label":
            "Schedule: " + steps.map(step => `tile block ${block_name(step.block)} ${words(step)}`).join("; then ")},
        blocks.map((block, i) => [svg("text", {x: i * column + 10, y: 16}, `tile block (${block.replaceAll(",", ", ")})`),
                                  svg("line", {class: "grid", x1: i * column + 95, x2: i * column + 95, y1: 22, y2: steps.length * row + 30})]),
        steps.map((step, i) => [svg("rect", {class: step.end ? "fill-b edge" : "fill-a soft edge", x: x(step), y: i * row + 26, width: 170, height: row - 6, rx: 4}),
                                svg("text", {class: step.end ? "on" : null, x: x(step) + 85, y: i * row + 44, "text-anchor": "middle"}, words(step))]));
}

function race_card(view, race, number) {
    const one = access => el("li", {}, `Tile block ${block_name(access.block)} ${access.does} it: `, op_button(view, access.op), access.time ? `, the ${access.time + 1}. time` : "");
    return el("article", {class: "card race", id: "race-" + (number + 1), "aria-label": "Race " + (number + 1)},
        el("h3", {}, `${number + 1}. ${race.place} `, el("span", {class: "badge missed"}, race.rule)),
        el("ol", {}, one(race.first), one(race.second)),
        race.schedule.length ? el("p", {}, "The shortest schedule that shows it, from top to bottom; nothing else has to run:") : el("p", {}, "Both can be the first access of their tile block:"),
        schedule(race), race.schedule_cut ? el("p", {class: "dim"}, "The schedule has more steps than are drawn.") : "",
        race.first_ran ? el("p", {class: "dim"}, "The first access stands before a step that the second one needs, but no token or release orders it before that step: it may take effect as late as the second one.")
                       : el("p", {class: "dim"}, "The two accesses are then next, in either order or at the same time."));
}

function races_section(view) {
    const run = view.run, races = run.races, others = run.diagnostics.filter(d => !races.some(race => race.rule === d.rule));
    return section("races", "Races and other findings",
        races.length ? races.map((race, i) => race_card(view, race, i)) : el("p", {}, "No two accesses were found that conflict and that nothing orders."),
        others.length ? [el("h3", {}, "Other findings"), el("ul", {class: "remarks"}, others.map(d => el("li", {class: d.severity === "error" ? "missed" : "analysis"},
            el("span", {class: "kind"}, d.severity), " ", el("span", {class: "dim"}, d.rule), " ", d.op_index !== undefined && d.op ? [op_button(view, d.op_index), ": "] : "", d.message,
            d.help ? [el("br"), d.help] : "")))] : "");
}
