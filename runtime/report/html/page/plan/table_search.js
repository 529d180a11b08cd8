// Finds tables by words of their text, by ranks and by hosts: "rank:3", "rank:0-3", "host:1". What was searched for stands in the
// page's address, so that it can be passed on.

const PLACE_WORD = /^(rank|host):(\d+)(?:-(\d+))?$/;

// The ranks that a word names as [first, last]; null for other words.
function ranksOfWord(word) {
  const found = PLACE_WORD.exec(word);
  if (!found) return null;
  const size = found[1] === "host" ? data.problem.ranks_per_host : 1;
  return [Number(found[2]) * size, (Number(found[3] ?? found[2]) + 1) * size - 1];
}

function matches(table, word, textOf) {
  const span = ranksOfWord(word);
  if (!span) return textOf(table).toLowerCase().includes(word);
  return table.shards.some(({ first, count }) => first <= span[1] && first + count - 1 >= span[0]);
}

class TableSearch {
  // `inAddress`: keeps the words in the page's address.
  constructor(list, textOf, hint, { inAddress = false, onChange = () => {} } = {}) {
    Object.assign(this, { list, textOf, inAddress, onChange, words: [] });
    this.box = searchBox(hint, "Search tables", (words) => this.find(words));
    this.count = element("output", { class: "count", "aria-live": "polite" });
    this.node = element("div", { class: "controls" }, this.box, this.count);
  }

  find(words) {
    this.words = words;
    this.list.filter((table) => words.every((word) => matches(table, word, this.textOf)));
    const { visible, rows } = this.list;
    this.count.textContent = words.length === 0 ? "" : `${formatCount(visible.length)} of ${plural(rows.length, "table")}`;
    if (this.inAddress) this.writeAddress();
    this.onChange(words);
  }

  type(text) {
    this.box.value = text;
    this.find(text.toLowerCase().split(/\s+/).filter(Boolean));
  }

  // Searches for a place, or no longer if it was searched for.
  toggle(word) {
    const others = this.words.filter((own) => !PLACE_WORD.test(own));
    this.type([...others, ...(this.words.includes(word) ? [] : [word])].join(" "));
  }

  writeAddress() {
    const hash = this.words.length === 0 ? "" : "#find=" + encodeURIComponent(this.words.join(" "));
    if (hash !== location.hash && (hash || location.hash.startsWith("#find="))) history.replaceState(null, "", hash || "#");
  }

  readAddress() {
    if (location.hash.startsWith("#find=")) this.type(decodeURIComponent(location.hash.slice("#find=".length)));
  }
}
