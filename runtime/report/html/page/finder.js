// A search over a list: a box for words, the number of matching rows, and these rows as CSV.

function wordsOf(text) {
  return text.toLowerCase().split(/\s+/).filter(Boolean);
}

// Returns a box that calls `onWords` with the typed words in lower case.
function searchBox(hint, label, onWords) {
  const input = element("input", { type: "search", placeholder: hint, "aria-label": label, oninput: () => onWords(wordsOf(input.value)) });
  return input;
}

// Returns a header and rows as comma-separated values. A column is [name, value(row)].
function csvText(columns, rows) {
  const quoted = (value) => (/[",\n]/.test(value) ? `"${String(value).replaceAll('"', '""')}"` : String(value));
  const lines = [columns.map(([name]) => quoted(name)), ...rows.map((row) => columns.map(([, value]) => quoted(value(row) ?? "")))];
  return lines.map((line) => line.join(",") + "\n").join("");
}

// Returns the columns of a list in the form of csvText(), without columns that are drawn as bars.
function csvColumns(columns) {
  return columns.filter((column) => !column.largestFirst && column.used !== false).map(({ label, csv, value }) => [label, csv ?? value]);
}

// Lets the reader save a text as a file.
function saveText(name, type, text) {
  const address = URL.createObjectURL(new Blob([text], { type }));
  const link = element("a", { href: address, download: name });
  document.body.append(link);
  link.click();
  link.remove();
  URL.revokeObjectURL(address);
}

class Finder {
  // `textOf(row)` is the text that is searched. `matches(row, word)` returns whether the row matches a word of special meaning,
  // and undefined for other words. `state` is the key of the words in the page's address. `csv` is [name, columns] of the file,
  // with columns in the form of csvText().
  constructor(list, { textOf, matches = () => undefined, hint, state = null, csv = null, onChange = () => {} }) {
    Object.assign(this, { list, textOf, matches, state, csv, onChange, words: [] });
    this.box = searchBox(hint, `Search ${list.noun}s`, (words) => this.find(words));
    this.count = element("output", { class: "count", "aria-live": "polite" });
    this.node = element("div", { class: "controls" }, this.box, this.count, csv && this.saveButton());
    if (state) onState(state, (text) => this.type(text));
  }

  saveButton() {
    const [name, columns] = this.csv;
    const save = () => saveText(name + ".csv", "text/csv", csvText(columns, this.list.sorted()));
    return element("button", { type: "button", class: "save", onclick: save }, "Save as CSV");
  }

  find(words) {
    this.words = words;
    this.list.filter((row) => {
      const own = words.length > 0 ? this.textOf(row).toLowerCase() : "";
      return words.every((word) => this.matches(row, word) ?? own.includes(word));
    });
    const { visible, rows } = this.list;
    this.count.textContent = words.length === 0 ? "" : `${formatCount(visible.length)} of ${plural(rows.length, this.list.noun)}`;
    if (this.state) writeState(this.state, words.join(" "));
    this.onChange(words);
  }

  type(text) {
    this.box.value = text;
    this.find(wordsOf(text));
  }

  // Adds `word` to the search, or removes it if it is there. Removes the words that `isRival` accepts.
  toggle(word, isRival) {
    const others = this.words.filter((own) => !isRival(own));
    this.type([...others, ...(this.words.includes(word) ? [] : [word])].join(" "));
  }
}
