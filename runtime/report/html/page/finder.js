// A search over a list: a box for words, how many rows have them, and the rows as CSV.

function wordsOf(text) {
  return text.toLowerCase().split(/\s+/).filter(Boolean);
}

// Calls `onWords` with the words of what was typed, in lower case.
function searchBox(hint, label, onWords) {
  const input = element("input", { type: "search", placeholder: hint, "aria-label": label, oninput: () => onWords(wordsOf(input.value)) });
  return input;
}

// Rows as comma-separated values with a head; a column is [name, value(row)].
function csvText(columns, rows) {
  const quoted = (value) => (/[",\n]/.test(value) ? `"${String(value).replaceAll('"', '""')}"` : String(value));
  const lines = [columns.map(([name]) => quoted(name)), ...rows.map((row) => columns.map(([, value]) => quoted(value(row) ?? "")))];
  return lines.map((line) => line.join(",") + "\n").join("");
}

// The columns of a list for csvText(), without those that are drawn as bars.
function csvColumns(columns) {
  return columns.filter((column) => !column.largestFirst && column.used !== false).map(({ label, csv, value }) => [label, csv ?? value]);
}

// Offers a text to be saved as a file.
function saveText(name, type, text) {
  const address = URL.createObjectURL(new Blob([text], { type }));
  const link = element("a", { href: address, download: name });
  document.body.append(link);
  link.click();
  link.remove();
  URL.revokeObjectURL(address);
}

class Finder {
  // `textOf(row)`: what words are looked for in. `matches(row, word)` returns undefined for words without a meaning of their own.
  // `state`: the key of the words in the address. `csv`: [name, columns] of the file, columns as in csvText().
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

  // Searches for a word in place of those that `isRival` accepts, or no longer if it was searched for.
  toggle(word, isRival) {
    const others = this.words.filter((own) => !isRival(own));
    this.type([...others, ...(this.words.includes(word) ? [] : [word])].join(" "));
  }
}
