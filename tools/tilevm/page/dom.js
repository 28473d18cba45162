/* Elements. All text from the document becomes text nodes, never markup. */
function element(namespace, tag, attributes, children) {
    const made = document.createElementNS(namespace, tag);
    for (const [name, value] of Object.entries(attributes || {})) {
        if (value === undefined || value === null || value === false)
            continue;
        if (typeof value === "function")
            made.addEventListener(name, value);
        else if (name === "style")
            made.style.cssText = value; /* policies without unsafe-inline forbid the attribute */
        else
            made.setAttribute(name, value === true ? "" : value);
    }
    for (const child of children.flat(Infinity))
        if (child !== null && child !== undefined && child !== false)
            made.append(typeof child === "object" ? child : String(child));
    return made;
}

function el(tag, attributes, ...children) {
    return element("http://www.w3.org/1999/xhtml", tag, attributes, children);
}

function svg(tag, attributes, ...children) {
    return element("http://www.w3.org/2000/svg", tag, attributes, children);
}

/* A part of the page, with a heading; the navigation lists it. */
function section(id, title, ...children) {
    return el("section", {id, "aria-labelledby": id + "-title"}, el("h2", {id: id + "-title"}, title), ...children);
}

/* Says something to those who do not see it. */
function say(text) {
    document.getElementById("live").textContent = text;
}

function table(caption, head, rows, numbers) {
    const cell = (tag, i, text) => el(tag, {class: numbers && numbers.includes(i) ? "number" : null,
                                            scope: tag === "th" ? "col" : null}, text);
    return el("div", {class: "wide"}, el("table", {},
        el("caption", {class: "hidden"}, caption),
        el("thead", {}, el("tr", {}, head.map((text, i) => cell("th", i, text)))),
        el("tbody", {}, rows.map(row => el("tr", {}, row.map((text, i) => cell("td", i, text)))))));
}

/* Buttons of which one is pressed. */
function choice(label, names, chosen, choose) {
    const buttons = names.map(name => el("button", {type: "button", "aria-pressed": String(name === chosen), click() {
        for (const other of buttons)
            other.setAttribute("aria-pressed", String(other === this));
        choose(name);
    }}, name));
    return el("span", {role: "group", "aria-label": label, class: "row"}, buttons);
}

/* One of the items at a time is in the order of the Tab key; arrows go from one to the next. */
function rove(items) {
    const go = at => {
        const to = Math.max(0, Math.min(items.length - 1, at));
        items.forEach((item, i) => item.setAttribute("tabindex", i === to ? "0" : "-1"));
        items[to].focus();
    };
    items.forEach((item, i) => {
        item.setAttribute("tabindex", i ? "-1" : "0");
        item.addEventListener("keydown", event => {
            const step = {ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1}[event.key];
            if (step)
                go(i + step);
            else if (event.key === "Home" || event.key === "End")
                go(event.key === "Home" ? 0 : items.length - 1);
            else if (event.key === "Enter" || event.key === " ")
                item.dispatchEvent(new MouseEvent("click", {bubbles: true}));
            else
                return;
            event.preventDefault();
        });
    });
}

/* A drawing with a position that the mouse and the arrow keys move: as a slider from 0 to last. words(at): what is
   there; moved(at): it has come there; chosen(at): it was clicked, or Enter was pressed. */
function slider(drawing, label, last, at_of, words, moved, chosen) {
    let at = 0;
    const go = to => {
        at = Math.max(0, Math.min(last, to));
        drawing.setAttribute("aria-valuenow", at);
        drawing.setAttribute("aria-valuetext", words(at));
        moved(at);
    };
    for (const [name, value] of Object.entries({role: "slider", tabindex: 0, "aria-label": label, "aria-valuemin": 0,
                                                "aria-valuemax": last}))
        drawing.setAttribute(name, value);
    drawing.addEventListener("pointermove", event => go(at_of(event)));
    drawing.addEventListener("click", event => {
        go(at_of(event));
        chosen(at);
    });
    drawing.addEventListener("keydown", event => {
        const steps = {ArrowRight: 1, ArrowUp: 1, ArrowLeft: -1, ArrowDown: -1, PageUp: 10, PageDown: -10, Home: -last,
                       End: last};
        if (event.key in steps)
            go(at + steps[event.key]);
        else if (event.key === "Enter" || event.key === " ")
            chosen(at);
        else
            return;
        event.preventDefault();
    });
    go(0);
}

/* ---- numbers ---- */

function grouped(n) {
    return Math.round(n).toLocaleString("en");
}

function bytes(n) {
    if (n < 1024)
        return n + " B";
    const units = ["KiB", "MiB", "GiB", "TiB"];
    let i = -1;
    do {
        n /= 1024;
        i++;
    } while (n >= 1024 && i + 1 < units.length);
    return (n >= 100 || Number.isInteger(n) ? Math.round(n) : n.toFixed(1)) + " " + units[i];
}

/* 4.35e12 and "B/s": "4.35 TB/s" */
function scaled(n, unit) {
    const units = ["", "k", "M", "G", "T", "P"];
    let i = 0;
    while (n >= 1000 && i + 1 < units.length) {
        n /= 1000;
        i++;
    }
    return Number(n.toPrecision(3)) + " " + units[i] + unit;
}

function count(n, word) {
    return grouped(n) + " " + word + (n === 1 ? "" : "s");
}

/* 5.531898021697998: "5.5319" */
function short(n) {
    return typeof n === "number" && !Number.isInteger(n) ? String(Number(n.toPrecision(5))) : String(n);
}
