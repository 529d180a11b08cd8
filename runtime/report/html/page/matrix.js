// A matrix of the bytes that senders send to receivers.

const MOST_LABELS = 16;  // largest matrix with figures in its cells

function blockText([first, last]) {
  return first === last ? String(first) : `${first}–${last}`;
}

function blockName(block) {
  return block[2] === 1 ? `rank ${block[0]}` : `${plural(block[2], "rank")} of ${blockText(block)}`;
}

class FlowMatrix {
  // `senders` and `receivers` are blocks of ranks, [first, last, number of ranks]. `flows` are [sender, receiver, bytes], with
  // indices into these lists.
  constructor({ senders, receivers, flows, ranksPerHost = null }) {
    Object.assign(this, { senders, receivers, flows, ranksPerHost });
    this.ofRanks = [...senders, ...receivers].every(([, , ranks]) => ranks === 1);
    const few = receivers.length <= MOST_LABELS && senders.length <= MOST_LABELS;
    this.left = 78;
    this.top = 40;
    this.sums = few && CHART.width > 600 ? 84 : 0;  // room for the sums
    const room = CHART.width - this.left - this.sums - 2;
    this.cellWidth = Math.min(room / this.receivers.length, few ? 110 : 40);
    this.cellHeight = few ? 28 : Math.min(Math.max(this.cellWidth, 7), 18);
    this.most = this.flows.reduce((most, [, , bytes]) => Math.max(most, bytes), 0);
    this.width = this.left + this.cellWidth * this.receivers.length + this.sums + 2;
    this.height = this.top + this.cellHeight * this.senders.length + (this.sums ? 26 : 4);
    this.byPlace = new Map(this.flows.map(([from, to, bytes]) => [from * this.receivers.length + to, bytes]));
    this.frame = svg("svg", { viewBox: `0 0 ${this.width} ${this.height}`, class: "matrix", role: "img",
      "aria-label": `Bytes by ${plural(this.senders.length, "sender")} and ${plural(this.receivers.length, "receiver")}; the list below has the figures` });
    this.frame.style.maxWidth = this.width + "px";
    this.drawCells();
    this.drawHeads();
    if (this.sums) this.drawSums();
    this.drawHosts();
    describe(this.frame, (event) => this.textAt(event));
  }

  x(column) {
    return this.left + column * this.cellWidth;
  }

  y(row) {
    return this.top + row * this.cellHeight;
  }

  text(x, y, text, kind) {
    this.frame.append(svg("text", { x, y, class: "tick " + kind }, text));
  }

  // Colour intensity follows the square root of the bytes, so that small flows are visible.
  drawCells() {
    const { left, top } = this;
    const gap = this.cellWidth > 10 ? 1 : 0;
    this.frame.append(svg("rect", { x: left, y: top, width: this.cellWidth * this.receivers.length, height: this.cellHeight * this.senders.length, class: "nothing" }));
    for (const [from, to, bytes] of this.flows) {
      const share = Math.sqrt(bytes / this.most);
      this.frame.append(svg("rect", { x: this.x(to), y: this.y(from), width: this.cellWidth - gap, height: this.cellHeight - gap, class: "flow", "fill-opacity": (0.12 + 0.88 * share).toFixed(3) }));
      if (this.cellWidth >= 58 && this.cellHeight >= 16) {
        this.frame.append(svg("text", { x: this.x(to) + this.cellWidth / 2, y: this.y(from) + this.cellHeight / 2 + 4, class: "amount middle" + (share > 0.6 ? " strong" : "") }, formatBytes(bytes)));
      }
    }
  }

  drawHeads() {
    const everyRow = Math.ceil(14 / this.cellHeight);
    const longest = this.receivers.reduce((most, block) => Math.max(most, blockText(block).length), 0);
    const everyColumn = Math.ceil((8 * longest + 8) / this.cellWidth);
    this.senders.forEach((block, row) => {
      if (row % everyRow === 0) this.text(this.left - 6, this.y(row) + this.cellHeight / 2 + 4, blockText(block), "end");
    });
    this.receivers.forEach((block, column) => {
      if (column % everyColumn === 0) this.text(this.x(column) + this.cellWidth / 2, this.top - 6, blockText(block), "middle");
    });
    this.text(this.left - 6, this.top - 22, "from ↓  to →", "end");
  }

  drawSums() {
    const { out, into } = this.sumsOf();
    const right = this.x(this.receivers.length) + this.sums - 4;
    const below = this.y(this.senders.length) + 18;
    this.text(right, this.top - 6, "sends", "end");
    this.text(this.left - 6, below, "receives", "end");
    out.forEach((bytes, row) => this.text(right, this.y(row) + this.cellHeight / 2 + 4, formatBytes(bytes), "end"));
    const every = Math.ceil(56 / this.cellWidth);
    into.forEach((bytes, column) => column % every === 0 && this.text(this.x(column) + this.cellWidth / 2, below, formatBytes(bytes), "middle"));
  }

  // Returns the bytes of every sender and of every receiver.
  sumsOf() {
    const out = this.senders.map(() => 0);
    const into = this.receivers.map(() => 0);
    for (const [from, to, bytes] of this.flows) {
      out[from] += bytes;
      into[to] += bytes;
    }
    return { out, into };
  }

  // Returns the indices of blocks where a new host begins; none if blocks have several ranks.
  hostStarts(blocks) {
    if (!this.ranksPerHost || !this.ofRanks) return [];
    const host = ([first]) => Math.floor(first / this.ranksPerHost);
    return blocks.map((block, i) => (i > 0 && host(block) !== host(blocks[i - 1]) ? i : 0)).filter(Boolean);
  }

  // Draws lines between hosts, if every row and column is a single rank.
  drawHosts() {
    const starts = (blocks) => this.hostStarts(blocks);
    const right = this.x(this.receivers.length);
    const bottom = this.y(this.senders.length);
    for (const row of starts(this.senders)) this.frame.append(svg("line", { x1: this.left, x2: right, y1: this.y(row) - 0.5, y2: this.y(row) - 0.5, class: "host" }));
    for (const column of starts(this.receivers)) this.frame.append(svg("line", { x1: this.x(column) - 0.5, x2: this.x(column) - 0.5, y1: this.top, y2: bottom, class: "host" }));
  }

  textAt(event) {
    const box = this.frame.getBoundingClientRect();
    const column = Math.floor((((event.clientX - box.left) / box.width) * this.width - this.left) / this.cellWidth);
    const row = Math.floor((((event.clientY - box.top) / box.height) * this.height - this.top) / this.cellHeight);
    const from = this.senders[row];
    const to = this.receivers[column];
    if (!from || !to) return null;
    const bytes = this.byPlace.get(row * this.receivers.length + column) ?? 0;
    return `${blockName(from)} to ${blockName(to)}\n${bytes > 0 ? formatBytes(bytes) : "nothing"}`;
  }

  // Describes the matrix in words.
  noteText() {
    const largest = (blocks) => plural(blocks.reduce((most, [, , ranks]) => Math.max(most, ranks), 1), "rank");
    const grouping = this.ofRanks ? "A row and a column for every rank that sends or receives." :
      `A row stands for ${largest(this.senders)} that send, a column for ${largest(this.receivers)} that receive; a cell is their sum.`;
    const hosts = this.hostStarts(this.senders).length + this.hostStarts(this.receivers).length > 0 ? " Lines are between hosts." : "";
    return `${grouping}${hosts} The darkest cell has ${formatBytes(this.most)}. What ranks keep is left out.`;
  }

  list() {
    const whole = this.flows.reduce((sum, [, , bytes]) => sum + bytes, 0);
    const rows = this.flows.map(([from, to, bytes]) => ({ from: this.senders[from], to: this.receivers[to], bytes }));
    const columns = [
      { key: "from", label: "From", value: (f) => -f.from[0], csv: (f) => blockText(f.from).replace("–", "-"), cell: (f) => blockText(f.from) },
      { key: "to", label: "To", value: (f) => -f.to[0], csv: (f) => blockText(f.to).replace("–", "-"), cell: (f) => blockText(f.to) },
      { key: "bytes", label: "Bytes", number: true, value: (f) => f.bytes, cell: (f) => formatBytes(f.bytes) },
      { key: "share", label: "Of all", number: true, value: (f) => f.bytes, cell: (f) => formatShare(f.bytes, whole), csv: (f) => f.bytes / whole },
    ];
    const list = new List({ columns, rows, sort: "bytes", page: 16, noun: "flow", caption: "Flows, the largest first" });
    const rankIn = (block, rank) => block[0] <= rank && rank <= block[1];
    const matches = (flow, word) => {
      const found = /^rank:(\d+)$/.exec(word);
      return found ? rankIn(flow.from, Number(found[1])) || rankIn(flow.to, Number(found[1])) : undefined;
    };
    const finder = new Finder(list, { textOf: (f) => `${blockText(f.from)} to ${blockText(f.to)}`, matches, hint: "Search: rank:3", csv: ["flows", csvColumns(columns)] });
    return element("details", {}, element("summary", {}, `As a list: ${plural(rows.length, "flow")}`), finder.node, list.node);
  }
}
