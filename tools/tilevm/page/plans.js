/* The plans that were weighed, and why better forms were not taken. */
function plan_words(plan) {
    return plan.loops.map(loop => [loop.route, loop.product, loop.stages ? count(loop.stages, "stage") : null]
        .filter(part => part).join(", ")).filter((text, i, all) => all.indexOf(text) === i).join("; ");
}

function plans_section(view) {
    const kernel = view.kernel, plans = kernel.plans || [], obstacles = kernel.obstacles || [];
    if (!plans.length)
        return null;
    const timed = plans.every(plan => plan.microseconds !== undefined), cost = plan => timed ? plan.microseconds : plan.cycles;
    const most = Math.max(...plans.map(cost)), taken = plans.find(plan => plan.taken), list = el("div");
    const why_not = plan => {
        const ratio = taken ? cost(plan) / cost(taken) : 1;
        const cheaper = ratio < 0.995 ? "predicted to be cheaper" : ratio > 1.005 ? "dearer" : "no cheaper";
        return plan.taken ? "" : plan.needs ? "needs " + plan.needs : "legal, " + cheaper;
    };
    const row = plan => [plan.taken ? el("strong", {}, plan.name + " (taken)") : plan.name,
        [timed ? cost(plan).toFixed(1) : grouped(cost(plan)), el("span", {class: "hidden"}, timed ? " µs" : " cycles")],
        svg("svg", {viewBox: "0 0 160 14", width: 160, height: 14, "aria-hidden": "true"},
            svg("rect", {class: plan.taken ? "fill-b" : "fill-a soft", x: 0, y: 1, height: 12, width: Math.max(1, 160 * cost(plan) / most)})),
        taken ? (cost(plan) / cost(taken)).toFixed(2) : "", plan.bound, plan_words(plan),
        `${plan.threads - plan.producers}${plan.producers ? " + " + plan.producers : ""}`, plan.registers, bytes(plan.shared_bytes), plan.blocks,
        why_not(plan)];
    const show = all => list.replaceChildren(table("Plans, the cheapest first", ["plan", timed ? "µs" : "cycles of a block", "", "ratio", "bound by",
        "loops", "threads", "registers", "shared", "blocks", "why not"], (all ? plans : plans.filter((plan, i) => i < 8 || plan.taken)).map(row), [1, 3, 7, 9]));
    show(false);
    return section("plans", "Plans that were weighed",
        el("p", {class: "dim"}, `Ways to compile this kernel, each really planned and predicted by the cost model, the cheapest first by `,
           timed ? "time." : "cycles of a multiprocessor for one tile block. Nothing is measured: a plan that is predicted to be cheaper is worth a try."),
        list, plans.length > 8 ? el("button", {type: "button", click() {
            show(true);
            this.remove();
        }}, `Show all ${plans.length} plans`) : "",
        obstacles.length ? [el("h3", {}, "What stood in the way of better forms"), el("ul", {class: "remarks"}, obstacles.map(at => {
            const code = kernel.code.findIndex(op => op.offset === at.offset);
            return el("li", {class: "missed"}, code >= 0 ? [el("button", {type: "button", class: "link", click: () => view.go("code", code)},
                `op ${code}, ${at.op}`), ": "] : "", el("span", {class: "dim"}, at.remark, " "), at.why,
                at.remedy ? [el("br"), el("strong", {}, "To change it: "), at.remedy] : "");
        }))] : "");
}
