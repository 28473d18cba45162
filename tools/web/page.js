"use strict";
// The page: hands files to the machine (web.c, run.c) and shows the texts that come back. What comes from a file is
// only ever set as text.
(async () => {
    const part = {
        findings: 0, listing: 1, kernels: 2, targets: 3, arrays: 4, figures: 5, runFindings: 6, output: 7, ptx: 8,
        ptxFindings: 9, report: 10, reportFindings: 11,
    };
    const byId = (id) => document.getElementById(id);
    const say = (id, text, kind) => {
        byId(id).textContent = text;
        byId(id).className = kind || "";
    };
    // Shows a text, or hides its place where there is none.
    const show = (id, text) => {
        byId(id).textContent = text;
        byId(id).hidden = !text;
    };
    // Lets the browser paint what was said before the machine takes over.
    const painted = () => new Promise((done) => requestAnimationFrame(() => setTimeout(done)));

    const encoded = byId("machine").textContent;
    const bytes = Uint8Array.from(atob(encoded), (c) => c.charCodeAt(0));
    const machine = await tilevmMachine({wasmBinary: bytes.buffer});
    let page = 0;

    const text = (which) => machine.UTF8ToString(machine._web_part(page, which))
        + (machine._web_was_cut(page, which) ? "\nout of memory: the rest is missing\n" : "");
    const lines = (which) => text(which).split("\n").filter((line) => line);
    // Calls f with the bytes, and a zero behind them, in the machine's memory.
    const withBytes = (content, f) => {
        const at = machine._malloc(content.length + 1);
        if (!at)
            throw new Error("out of memory");
        machine.HEAPU8.set(content, at);
        machine.HEAPU8[at + content.length] = 0;
        return f(at, content.length);
    };
    const withString = (string, f) => withBytes(new TextEncoder().encode(string), (at) => {
        const result = f(at);
        machine._free(at);
        return result;
    });

    const fillChoices = (id, names) => byId(id).replaceChildren(...names.map((name, i) => {
        const option = document.createElement("option");
        option.value = id === "target" ? name : String(i);
        option.textContent = name;
        return option;
    }));

    const forget = () => {
        for (const id of ["run-findings", "output", "ptx-text", "report-findings"])
            show(id, "");
        for (const id of ["outcome", "ptx-state", "report-state"])
            say(id, "");
        showReport("");
        byId("arrays-box").hidden = byId("figures-box").hidden = true;
    };

    // A report is a page of its own, under the same policy.
    const showReport = (html) => {
        const frame = byId("report-page"), save = byId("report-save");
        URL.revokeObjectURL(save.href);
        frame.hidden = save.hidden = !html;
        frame.srcdoc = html;
        if (html)
            save.href = URL.createObjectURL(new Blob([html], {type: "text/html"}));
    };

    const open = (name, content) => {
        machine._web_close(page);
        page = withString(name, (at) => withBytes(content, (b, size) => machine._web_open(at, b, size)));
        if (!page)
            throw new Error("out of memory");
        const valid = machine._web_is_valid(page) !== 0;
        const readable = machine._web_list(page) !== 0;
        forget();
        show("findings", text(part.findings));
        say("verdict", valid ? "Every rule holds." : readable ? "The kernel breaks rules." : "The file cannot be read.",
            valid ? "good" : "bad");
        show("text", readable ? text(part.listing) : "");
        byId("listing").hidden = !readable;
        byId("run").hidden = byId("ptx").hidden = byId("report").hidden = !valid;
        if (valid) {
            machine._web_list_kernels(page);
            machine._web_list_targets(page);
            fillChoices("kernel", lines(part.kernels));
            const chosen = byId("target").value;
            fillChoices("target", lines(part.targets));
            byId("target").value = chosen || "sm_90a";
        }
        byId("opened").hidden = false;
        say("state", `${name}, ${content.length} bytes`);
    };

    // What an open file or a run says when the machine itself gives up.
    const guarded = (id, f) => async (...args) => {
        try {
            await f(...args);
        } catch (error) {
            say(id, String(error.message || error), "bad");
        }
    };
    const openFile = guarded("state", async (file) => {
        say("state", `Opening ${file.name}.`);
        await painted();
        open(file.name, new Uint8Array(await file.arrayBuffer()));
    });

    const fillArrays = () => {
        const rows = lines(part.arrays).map((line) => {
            const row = document.createElement("tr");
            row.append(...line.split("\t").map((value) => {
                const cell = document.createElement("td");
                cell.textContent = value;
                return cell;
            }));
            return row;
        });
        byId("arrays").tBodies[0].replaceChildren(...rows);
        byId("arrays-box").hidden = rows.length === 0;
    };

    const run = guarded("outcome", async () => {
        const number = (id) => Number(byId(id).value);
        say("outcome", "Running.");
        byId("start").disabled = true;
        await painted();
        const start = performance.now();
        try {
            const failed = machine._web_run(page, number("kernel"), number("grid-x"), number("grid-y"), number("grid-z"),
                number("seed"), byId("checks").checked ? 1 : 0, 1000 * number("seconds"));
            const ms = (performance.now() - start).toFixed(1);
            const found = text(part.runFindings);
            const kernelMs = (text(part.figures).split("\n")[1] || "").split(" ms")[0];
            say("outcome", failed ? `The run has errors, after ${ms} ms.`
                : `The kernel has run in ${kernelMs} ms (${ms} ms with its arguments)${found ? "; there are remarks" : ""}.`,
                failed ? "bad" : "good");
            show("run-findings", found);
            show("output", text(part.output));
            show("figures", text(part.figures));
            byId("figures-box").hidden = !text(part.figures);
            fillArrays();
        } finally {
            byId("start").disabled = false;
        }
    });

    const compile = guarded("ptx-state", async () => {
        const target = byId("target").value;
        say("ptx-state", "Compiling.");
        await painted();
        const start = performance.now();
        const good = withString(target, (at) => machine._web_compile(page, at)) !== 0;
        say("ptx-state", good ? `Compiled for ${target} in ${(performance.now() - start).toFixed(1)} ms.`
            : `This kernel cannot be compiled for ${target}.`, good ? "good" : "bad");
        show("ptx-text", good ? text(part.ptx) : text(part.ptxFindings));
    });

    const report = guarded("report-state", async () => {
        const number = (id) => Number(byId(id).value);
        const target = byId("target").value;
        say("report-state", "Compiling, and weighing other plans.");
        await painted();
        const start = performance.now();
        const good = withString(target, (at) => machine._web_report(page, number("kernel"), at,
            byId("report-run").checked ? 1 : 0, number("grid-x"), number("grid-y"), number("grid-z"), number("seed"),
            1000 * number("seconds"))) !== 0;
        say("report-state", good ? `Made for ${target} in ${((performance.now() - start) / 1000).toFixed(1)} s.`
            : `There is no report for ${target}.`, good ? "good" : "bad");
        show("report-findings", text(part.reportFindings));
        showReport(good ? text(part.report) : "");
    });

    const submits = (id, f) => byId(id).addEventListener("submit", (event) => {
        event.preventDefault();
        f();
    });
    submits("run-form", run);
    submits("ptx-form", compile);
    submits("report-form", report);
    byId("file").addEventListener("change", () => byId("file").files[0] && openFile(byId("file").files[0]));
    byId("example").addEventListener("click", guarded("state", () =>
        open("example.tir", new TextEncoder().encode(byId("example-text").textContent))));
    const drop = document.body;
    for (const kind of ["dragenter", "dragover"])
        drop.addEventListener(kind, (event) => {
            event.preventDefault();
            byId("drop").classList.add("over");
        });
    for (const kind of ["dragleave", "drop"])
        drop.addEventListener(kind, () => byId("drop").classList.remove("over"));
    drop.addEventListener("drop", (event) => {
        event.preventDefault();
        if (event.dataTransfer.files[0])
            openFile(event.dataTransfer.files[0]);
    });
    say("state", "No file is open.");
    document.documentElement.dataset.ready = "yes";
})().catch((error) => {
    document.getElementById("state").textContent = `The machine cannot start in this browser: ${error.message || error}`;
});
