/* Puts the page together: one view for each kernel. */
class View {
    constructor(kernel, report) {
        this.kernel = kernel;
        this.report = report;
        this.followers = []; /* called with what is chosen: kind, key, what is linked to it */
        this.chosen = null;
        this.run = report.run && report.run.kernel === kernel.name ? report.run : null;
        this.show_layout = () => {};
    }

    choose(kind, key) {
        this.chosen = [kind, key];
        const linked = this.kernel.linked(kind, key);
        for (const follow of this.followers)
            follow(kind, key, linked);
    }

    /* The same from elsewhere on the page, which goes to the code. */
    go(kind, key) {
        this.choose(kind, key);
        document.getElementById("code").scrollIntoView();
    }
}

function facts(pairs) {
    return el("dl", {class: "facts"}, pairs.filter(pair => pair).map(([name, value]) =>
        el("div", {}, el("dt", {}, name), el("dd", {}, value))));
}

function summary_section(view) {
    const k = view.kernel, missed = k.remarks.filter(remark => remark.kind === "missed");
    return section("summary", "Summary", el("p", {class: "mono dim"}, k.function && k.function !== k.name ? k.name : ""), facts([
        ["Target", k.target],
        ["Threads of a block", k.consumers ? `${k.consumers} + ${k.producers} that copy` : k.threads],
        ["Registers of a thread, predicted", k.cost.registers],
        ["Shared memory", bytes(k.shared_bytes)],
        ["Blocks on a multiprocessor", k.cost.blocks],
        ["Barriers", k.barrier_count],
        k.cluster && ["Cluster", count(k.cluster, "thread block")],
        k.local_bytes && ["Local memory of a thread", bytes(k.local_bytes)],
        ["Blocks start", k.block_order + (k.persistent ? ", persistent" : "")],
        k.cost.microseconds !== undefined && ["Time, predicted", `${k.cost.microseconds.toFixed(1)} µs, bound by ${k.cost.bound}`]
    ]), missed.length ? el("details", {open: missed.length < 6}, el("summary", {}, count(missed.length, "decision") +
            " that cost speed"), el("ul", {class: "remarks"}, missed.map(remark => remark_item(k, remark, view)))) : null);
}

function show_kernel(report, kernel) {
    const view = new View(kernel, report);
    const found = view.run && (view.run.races.length || view.run.diagnostics.length);
    const of_run = view.run ? [run_section, heat_section, order_section] : [], races = view.run ? [races_section] : [];
    const compiled = kernel.uncompiled ? [] : [remarks_section, plans_section, loops_section, roofline_section, layouts_section,
                                               memory_section, registers_section];
    const order = [...(kernel.uncompiled ? [] : [summary_section, diff_section]), ...(found ? races : []), code_section,
                   ...compiled, ...of_run, ...(found ? [] : races)];
    const sections = order.map(make => make(view)).filter(made => made);
    document.getElementById("main").replaceChildren(...sections);
    document.getElementById("sections").replaceChildren(el("ul", {}, sections.map(made =>
        el("li", {}, el("a", {href: "#" + made.id}, made.firstChild.textContent)))));
    return view;
}

/* A kernel that was run but not compiled: there are its ops, and nothing that came of them. */
function uncompiled(run) {
    return {name: run.kernel, code: run.code, ptx: "", ops: [], values: [], layouts: [], rings: [], shared: [], barriers: [],
            loops: [], lines: [], machine: {}, cost: {}, uncompiled: true};
}

function show_report(report) {
    const run = report.run && report.run.code ? [uncompiled(report.run)] : [];
    const kernels = (run.length ? run : report.kernels).map(kernel => new Kernel(kernel, report));
    const header = document.getElementById("top"), file = last_part(report.file);
    document.title = (kernels.length === 1 ? kernels[0].function || kernels[0].name : file) + " – tilevm report";
    if (!kernels.length) {
        header.replaceChildren(el("h1", {}, file), el("p", {}, "There is no kernel in this file."));
        return;
    }
    const name_of = kernel => kernel.function_name || kernel.function || kernel.name;
    const chooser = el("select", {id: "kernel", change: () => show_kernel(report, kernels[chooser.selectedIndex])},
                       kernels.map(kernel => el("option", {}, name_of(kernel))));
    header.replaceChildren(
        el("h1", {}, kernels.length === 1 ? name_of(kernels[0]) : file),
        el("p", {class: "dim"}, `${report.file}, ${kernels[0].uncompiled ? "not compiled" : "compiled for " + report.target} by tilevm ${report.version}`),
        kernels.length > 1 ? el("p", {}, el("label", {for: "kernel"}, "Kernel"), chooser) : "");
    show_kernel(report, kernels[0]);
}

/* In a frame without an address of its own (make web), a link to a part would lead to the page around it. */
document.addEventListener("click", event => {
    const link = event.target.closest("a[href^='#']");
    if (!link || document.URL !== "about:srcdoc")
        return;
    event.preventDefault();
    document.getElementById(link.getAttribute("href").slice(1))?.scrollIntoView();
});

document.addEventListener("DOMContentLoaded",
                          () => show_report(JSON.parse(document.getElementById("document").textContent)));
