// The machine as tiles, one per rank, grouped by host. The fill height is memory, the colour is time. A click on a tile or a
// host selects its tables on the whole page.

const MOST_TILES = 4096;

class Machine {
  // `search` is the Finder into which a click types. `panel` shows the rank.
  constructor(search, panel) {
    Object.assign(this, { search, panel });
    this.least = ranks.reduce((least, rank) => Math.min(least, rank.ms), slowest);
    const size = data.problem.ranks_per_host;
    const hosts = [];
    for (let first = 0; first < ranks.length; first += size) hosts.push(this.host(first / size, ranks.slice(first, first + size)));
    this.about = element("p", { class: "about", "aria-live": "polite" });
    this.node = element("div", {}, this.scale(), element("div", { class: "machine" + (ranks.length > 128 ? " small" : "") }, hosts), this.about);
    search.onChange = (words) => this.show(words);
    this.show([]);
  }

  host(index, own) {
    const word = `host:${index}`;
    const label = element("button", { type: "button", class: "host-name", "aria-label": `Tables of host ${index}`, onclick: () => this.search.toggle(word, isPlaceWord) }, String(index));
    return element("div", { class: "host" }, data.problem.hosts > 1 ? label : null, element("div", { class: "tiles" }, own.map((rank) => this.tile(rank))));
  }

  tile(rank) {
    const text = `Rank ${rank.rank}: ${formatMs(rank.ms)} ms, ${formatBytes(rank.used)} of ${formatBytes(rank.available)}`;
    const node = element("button", { type: "button", class: "tile" + (rank.ms >= slowest * (1 - 1e-9) ? " slowest" : ""), "aria-label": text,
      onclick: () => this.choose(rank) }, element("i"));
    node.firstChild.style.height = Math.min(100, (100 * (rank.capacity - rank.available + rank.used)) / rank.capacity) + "%";
    node.style.setProperty("--heat", this.heat(rank) + "%");
    describe(node, () => text);
    rank.tile = node;
    return node;
  }

  choose({ rank }) {
    this.search.toggle(`rank:${rank}`, isPlaceWord);
    this.search.words.includes(`rank:${rank}`) ? this.panel.open(`rank ${rank}`) : this.panel.close();
  }

  // Returns a percentage between the fastest and the slowest rank; 100 for all if they hardly differ.
  heat(rank) {
    const span = slowest - this.least;
    return span < 0.01 * slowest ? 100 : Math.round(15 + (85 * (rank.ms - this.least)) / span);
  }

  scale() {
    return element("p", { class: "scale" }, element("span", {}, formatMs(this.least) + " ms"), element("i", { class: "ramp time-ramp" }),
      element("span", {}, formatMs(slowest) + " ms"), element("span", {}, `· filled: ${mainTierName} taken`), element("span", {}, "· outlined: the slowest"));
  }

  show(words) {
    const spans = words.map(ranksOfWord).filter(Boolean);
    const chosen = (rank) => spans.length > 0 && spans.every(([first, last]) => first <= rank.rank && rank.rank <= last);
    for (const rank of ranks) rank.tile.setAttribute("aria-pressed", String(chosen(rank)));
    const picked = ranks.filter(chosen);
    this.about.textContent = picked.length === 1 ? this.textOf(picked[0]) : "Click a rank or a host to see its tables.";
  }

  textOf(rank) {
    const dearest = dearestOn(rank.rank, 3).map(({ table, ms }) => `${table.label} ${formatMs(ms)} ms`);
    return `Rank ${rank.rank}: ${timesText(rank.times).replaceAll("\n", ", ")}. ` +
      `${formatBytes(rank.used)} of ${formatBytes(rank.available)} in use. The most expensive tables: ${dearest.join(", ")}.`;
  }
}

function machineSection(search, panel) {
  if (!search || ranks.length < 2 || ranks.length > MOST_TILES) return null;
  return section("machine", "The machine", new Machine(search, panel).node);
}
