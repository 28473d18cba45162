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
    return section("summary", "Summary", facts([
        ["Target", k.target],
        ["Threads of a block", k.consumers ? `${k.threads}: ${k.consumers} + ${k.producers}` : k.threads],
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
    const of_run = view.run ? [races_section, run_section, heat_section, order_section] : [];
    const sections = [summary_section, diff_section, code_section, remarks_section, plans_section, loops_section,
                      roofline_section, layouts_section, memory_section, registers_section, ...of_run]
        .map(make => make(view)).filter(made => made);
    document.getElementById("main").replaceChildren(...sections);
    document.getElementById("sections").replaceChildren(el("ul", {}, sections.map(made =>
        el("li", {}, el("a", {href: "#" + made.id}, made.firstChild.textContent)))));
    return view;
}

function show_report(report) {
    const kernels = report.kernels.map(kernel => new Kernel(kernel, report));
    const header = document.getElementById("top"), file = last_part(report.file);
    document.title = (kernels.length === 1 ? kernels[0].name : file) + " – tilevm report";
    if (!kernels.length) {
        header.replaceChildren(el("h1", {}, file), el("p", {}, "There is no kernel in this file."));
        return;
    }
    const chooser = el("select", {id: "kernel", change: () => show_kernel(report, kernels[chooser.selectedIndex])},
                       kernels.map(kernel => el("option", {}, kernel.name)));
    header.replaceChildren(
        el("h1", {}, kernels.length === 1 ? kernels[0].name : file),
        el("p", {class: "dim"}, `${report.file}, compiled for ${report.target} by tilevm ${report.version}`),
        kernels.length > 1 ? el("p", {}, el("label", {for: "kernel"}, "Kernel"), chooser) : "");
    show_kernel(report, kernels[0]);
}

document.addEventListener("DOMContentLoaded",
                          () => show_report(JSON.parse(document.getElementById("document").textContent)));
