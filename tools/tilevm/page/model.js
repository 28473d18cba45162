/* A kernel of the document, with what stands where. Lines of PTX count from 1, everything else from 0. */
class Kernel {
    constructor(data, side) {
        Object.assign(this, data);
        this.remarks = side.remarks.filter(remark => remark.kernel === data.name);
        this.sources = side.sources;
        this.ptx_lines = data.ptx.replace(/\n+$/, "").split("\n");
        this.op_of_line = new Array(this.ptx_lines.length + 1).fill(-1);
        data.lines.forEach(([line, op], i) => {
            const end = i + 1 < data.lines.length ? data.lines[i + 1][0] : this.ptx_lines.length + 1;
            this.op_of_line.fill(op, line, end);
        });
        this.lines_of_op = this.ops.map(() => []);
        this.op_of_line.forEach((op, line) => op >= 0 && this.lines_of_op[op].push(line));
        this.ops_of_code = this.code.map(() => []);
        this.ops.forEach((op, i) => {
            op.index = i;
            op.depth = op.parent === undefined ? 0 : this.ops[op.parent].depth + 1;
            if (this.ops_of_code[op.number])
                this.ops_of_code[op.number].push(i);
        });
        this.codes_at = new Map();
        this.code.forEach((op, i) => op.line && this.at(place_of(op)).push(i));
    }

    at(place) {
        if (!this.codes_at.has(place))
            this.codes_at.set(place, []);
        return this.codes_at.get(place);
    }

    /* The ops of the function that a remark is about; its own offset says which. */
    codes_of(remark) {
        return this.code.map((op, i) => i).filter(i => this.code[i].offset === remark.offset);
    }

    remarks_of(code) {
        return this.remarks.filter(remark => remark.offset === this.code[code].offset);
    }

    /* The innermost loop around an op; undefined: none. */
    loop_around(index) {
        let at = this.ops[index].parent;
        while (at !== undefined && !["for", "loop"].includes(this.ops[at].name))
            at = this.ops[at].parent;
        return at;
    }

    is_inside(index, outer) {
        for (let at = index; at !== undefined; at = this.ops[at].parent)
            if (at === outer)
                return true;
        return false;
    }

    /* What is highlighted when something is chosen: ops of the function, ops, lines of PTX, places in the source. */
    linked(kind, index) {
        const codes = {
            source: () => this.codes_at.get(index) || [],
            code: () => [index],
            op: () => [this.ops[index].number],
            line: () => this.op_of_line[index] < 0 ? [] : [this.ops[this.op_of_line[index]].number]
        }[kind]().filter(code => this.code[code]);
        const ops = kind === "op" ? [index]
                  : kind === "line" ? this.op_of_line.slice(index, index + 1).filter(op => op >= 0)
                  : codes.flatMap(code => this.ops_of_code[code]);
        const lines = kind === "line" && !ops.length ? [index] : ops.flatMap(op => this.lines_of_op[op]);
        const places = codes.filter(code => this.code[code].line).map(code => place_of(this.code[code]));
        return {code: new Set(codes), op: new Set(ops), line: new Set(lines), source: new Set(places)};
    }
}

function place_of(op) {
    return op.file + ":" + op.line;
}

/* "matmul.py" */
function last_part(file) {
    return file.replace(/^.*[\/\\]/, "");
}
