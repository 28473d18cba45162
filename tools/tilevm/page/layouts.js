/* Layouts: which thread and register holds which element of a tile. A layout says for each bit of the numbers of the
   register, the lane and the warp which bits of the element's row-major index it flips; a bit that flips none makes
   copies. */

/* What is drawn of a tile at once, and how many registers of all threads are looked through for it. */
const MOST_ROWS = 128, MOST_COLUMNS = 128, MOST_PLACES = 1 << 20;

/* "c0", "r3", "d0.1": which bit of which dimension. */
function bit_names(shape, image) {
    const names = [];
    let shift = 0;
    for (let d = shape.length - 1; d >= 0; d--) {
        const bits = Math.round(Math.log2(shape[d]));
        for (let b = 0; b < bits; b++)
            if (image >>> (shift + b) & 1)
                names.push((d === shape.length - 1 ? "c" : d === shape.length - 2 ? "r" : "d" + d + ".") + b);
        shift += bits;
    }
    return names.join("+") || "copies";
}

function combine(images, number) {
    let index = 0;
    for (let i = 0; number >>> i; i++)
        if (number >>> i & 1)
            index ^= images[i];
    return index;
}

/* For each element that is drawn, the first place that holds it: register, lane and warp in one number, the register in
   the lowest bits. -1: it was not looked up. */
function places_of(layout, rows, columns, all_columns) {
    const places = new Int32Array(rows * columns).fill(-1);
    const images = [...layout.register, ...layout.lane, ...layout.warp];
    const count = 2 ** images.length;
    if (count > MOST_PLACES)
        return null;
    for (let place = count - 1; place >= 0; place--) {
        const index = combine(images, place), row = Math.floor(index / all_columns), column = index % all_columns;
        if (row < rows && column < columns)
            places[row * columns + column] = place;
    }
    return places;
}

function split_place(layout, place) {
    const registers = layout.register.length, lanes = layout.lane.length;
    return {register: place % 2 ** registers, lane: Math.floor(place / 2 ** registers) % 2 ** lanes,
            warp: Math.floor(place / 2 ** (registers + lanes))};
}

function copies_of(layout) {
    const idle = images => images.filter(image => !image).length;
    return {threads: 2 ** (idle(layout.lane) + idle(layout.warp)), registers: 2 ** idle(layout.register)};
}

/* A tile in one layout, with a cursor on an element. moved(element): the cursor has been moved here. */
class TileView {
    constructor(kernel, value, layout, title, moved) {
        const shape = value.shape;
        this.kernel = kernel;
        this.layout = kernel.layouts[layout];
        this.shape = shape;
        this.all_columns = shape.length ? shape[shape.length - 1] : 1;
        this.all_rows = shape.slice(0, -1).reduce((a, b) => a * b, 1);
        this.rows = Math.min(this.all_rows, MOST_ROWS);
        this.columns = Math.min(this.all_columns, MOST_COLUMNS);
        this.places = places_of(this.layout, this.rows, this.columns, this.all_columns);
        this.cell = Math.max(3, Math.min(24, Math.floor(520 / Math.max(this.rows, this.columns))));
        this.moved = moved;
        this.colour = "warp and lane";
        this.canvas = el("canvas", {width: this.columns * this.cell, height: this.rows * this.cell, tabindex: 0,
            role: "slider", "aria-label": title + ": element", "aria-valuemin": 0,
            "aria-valuemax": this.rows * this.columns - 1, pointermove: event => this.point(event),
            click: event => this.point(event), keydown: event => this.key(event)});
        this.element = el("div", {class: "tile"}, el("h3", {}, title), this.places ? this.canvas : el("p", {},
            "Too many registers and threads to draw; the bits below say it all."), this.bits());
        this.row = this.column = 0;
    }

    bits() {
        const list = images => images.map(image => bit_names(this.shape, image)).join(" ") || "none";
        const strips = this.kernel.strip_bits || 0, warps = this.layout.warp.length - strips;
        return el("p", {class: "mono dim"}, "register bits: ", list(this.layout.register), el("br"),
                  "lane bits: ", list(this.layout.lane), el("br"), "warp bits: ", list(this.layout.warp.slice(0, warps)),
                  strips ? [el("br"), "strip bits: ", list(this.layout.warp.slice(warps))] : "");
    }

    /* Red, green and blue of a place: the hue is the warp's or the register's, the lightness the lane's. */
    colour_of(place, dark) {
        const {register, lane, warp} = split_place(this.layout, place);
        const warps = 2 ** this.layout.warp.length, registers = 2 ** this.layout.register.length;
        const hue = this.colour === "register" ? 360 * register / registers : (360 * warp / Math.max(warps, 4) + 215) % 360;
        const part = this.colour === "register" ? 0.5 : lane / 31, lightness = dark ? .25 + .4 * part : .88 - .45 * part;
        const reach = .6 * Math.min(lightness, 1 - lightness);
        const channel = n => {
            const k = (n + hue / 30) % 12;
            return 255 * (lightness - reach * Math.max(-1, Math.min(k - 3, 9 - k, 1)));
        };
        return [channel(0), channel(8), channel(4)];
    }

    draw() {
        if (!this.places)
            return;
        const dark = matchMedia("(prefers-color-scheme: dark)").matches, pixels = new ImageData(this.columns, this.rows);
        this.places.forEach((place, i) => place >= 0 && pixels.data.set([...this.colour_of(place, dark), 255], 4 * i));
        this.picture = el("canvas", {width: this.columns, height: this.rows});
        this.picture.getContext("2d").putImageData(pixels, 0, 0);
        this.go(this.row, this.column, false);
    }

    go(row, column, tell) {
        this.row = Math.max(0, Math.min(this.rows - 1, row));
        this.column = Math.max(0, Math.min(this.columns - 1, column));
        if (!this.places)
            return;
        const context = this.canvas.getContext("2d"), c = this.cell;
        context.clearRect(0, 0, this.canvas.width, this.canvas.height);
        context.imageSmoothingEnabled = false;
        context.drawImage(this.picture, 0, 0, this.canvas.width, this.canvas.height);
        const style = getComputedStyle(document.documentElement);
        context.lineWidth = 2;
        context.strokeStyle = style.getPropertyValue("--text");
        context.strokeRect(this.column * c - 2, this.row * c - 2, c + 4, c + 4);
        this.canvas.setAttribute("aria-valuenow", this.row * this.columns + this.column);
        this.canvas.setAttribute("aria-valuetext", this.words());
        if (tell)
            this.moved(this);
    }

    element_index() {
        const index = [];
        let rest = this.row * this.all_columns + this.column;
        for (let d = this.shape.length - 1; d >= 0; d--) {
            index.unshift(rest % this.shape[d]);
            rest = Math.floor(rest / this.shape[d]);
        }
        return index;
    }

    words() {
        const place = this.places[this.row * this.columns + this.column];
        const {register, lane, warp} = split_place(this.layout, place), copies = copies_of(this.layout);
        const thread = warp * 32 + lane;
        return `element [${this.element_index().join(", ")}]: warp ${warp}, lane ${lane} (thread ${thread}), register ` +
               `${register}` + (copies.threads > 1 ? `, and ${copies.threads - 1} more threads` : "") +
               (copies.registers > 1 ? `, in ${copies.registers} registers` : "");
    }

    point(event) {
        const box = this.canvas.getBoundingClientRect(), scale = this.canvas.width / box.width;
        this.go(Math.floor((event.clientY - box.top) * scale / this.cell),
                Math.floor((event.clientX - box.left) * scale / this.cell), true);
    }

    key(event) {
        const step = {ArrowRight: [0, 1], ArrowLeft: [0, -1], ArrowDown: [1, 0], ArrowUp: [-1, 0]}[event.key];
        if (!step)
            return;
        event.preventDefault();
        this.go(this.row + step[0], this.column + step[1], true);
    }
}

/* What is drawn of a value: a conversion as before and after, anything else in each of its layouts. */
function pictures_of(kernel, number) {
    const value = kernel.values[number], op = kernel.ops[value.op];
    if (op && op.name === "convert") {
        const source = kernel.values[op.operands[0]];
        if (source.layouts)
            return [[source, source.layouts[0], "before: " + source.name], [value, value.layouts[0], "after: " + value.name]];
    }
    const kind = value.in_shared_memory ? "as it is copied to shared memory" : value.recomputed ? "computed anew" : "in registers";
    return value.layouts.map((layout, i) => [value, layout,
        value.layouts.length > 1 ? `${kind}, layout ${i + 1} of ${value.layouts.length}` : kind]);
}

function layouts_section(view) {
    const kernel = view.kernel, numbers = kernel.values.map((value, i) => i).filter(i => kernel.values[i].layouts);
    if (!numbers.length)
        return null;
    const conversions = numbers.filter(i => kernel.ops[kernel.values[i].op] && kernel.ops[kernel.values[i].op].name === "convert");
    const option = i => el("option", {value: i}, kernel.values[i].name + " : " + kernel.values[i].type);
    const chooser = el("select", {id: "choose-tile", change: () => show(Number(chooser.value))},
        conversions.length ? el("optgroup", {label: "conversions"}, conversions.map(option)) : "",
        el("optgroup", {label: "tiles"}, numbers.filter(i => !conversions.includes(i)).map(option)));
    const drawn = el("div", {class: "tiles"}), said = el("p", {class: "said mono", "aria-live": "off"}), text = el("p", {class: "dim"});
    let tiles = [], colour = "warp and lane";
    const moved = from => {
        for (const tile of tiles)
            if (tile !== from)
                tile.go(from.row, from.column, false);
        said.replaceChildren(...tiles.filter(tile => tile.places).flatMap((tile, i) => [i ? el("br") : "", tile.words()]));
    };
    const show = number => {
        const value = kernel.values[number], op = kernel.ops[value.op];
        chooser.value = number;
        text.replaceChildren(op ? op.text : "a parameter", op && op.detail ? ": " + op.detail : "",
            value.shape && value.shape.at(-1) > MOST_COLUMNS ? `; the first ${MOST_COLUMNS} columns are drawn` : "");
        tiles = pictures_of(kernel, number).map(([tile, layout, title]) => new TileView(kernel, tile, layout, title, moved));
        for (const tile of tiles) {
            tile.colour = colour;
            tile.draw();
        }
        drawn.replaceChildren(...tiles.map(tile => tile.element));
        moved(tiles[0]);
    };
    view.show_layout = number => {
        show(number);
        document.getElementById("layouts").scrollIntoView();
    };
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => tiles.forEach(tile => tile.draw()));
    const made = section("layouts", "Layouts",
        el("p", {class: "dim"}, "Who holds which element: rows and columns are those of the tile, the colour is the warp and ",
           "its shade the lane. The mouse or the arrow keys move from element to element."),
        el("div", {class: "row"}, el("label", {for: "choose-tile"}, "Tile"), chooser,
           choice("Colours show", ["warp and lane", "register"], colour, name => {
               colour = name;
               for (const tile of tiles) {
                   tile.colour = name;
                   tile.draw();
               }
           })), text, drawn, said);
    show(conversions.length ? conversions[0] : numbers.reduce((a, b) =>
        kernel.values[a].shape.reduce((x, y) => x * y, 1) >= kernel.values[b].shape.reduce((x, y) => x * y, 1) ? a : b));
    return made;
}
