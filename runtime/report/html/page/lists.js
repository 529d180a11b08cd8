// Tables of rows that can be sorted, searched and unfolded.

// Longer names may be broken anywhere, to leave room for the figures.
const LONG_NAME = 14;

// A column is {key, label, value(row), cell(row) -> node or text, number, largestFirst, optional, used}. Columns with `number`
// or `largestFirst` are sorted in descending order at first. Columns with `optional` are hidden on narrow screens; columns
// whose `used` is false are always hidden.
//
// The page's address keeps the order of the lists that are on the page from the beginning, as "sort-<name>=ms", or "-ms" for
// descending order. It does not keep the order of lists in a panel.
class List {
  // `onOpen` is called with a row when the row is clicked or its name is pressed.
  constructor({ columns, rows, sort, ascending = false, page, noun, name = noun, caption, onChange = () => {}, onOpen = null }) {
    columns = columns.filter((column) => column.used !== false);
    Object.assign(this, { columns, rows, sort, ascending, page, noun, name, onChange, onOpen });
    this.shown = page;
    this.visible = rows;
    this.body = element("tbody");
    this.more = element("p", { class: "more" });
    this.node = element("div", { class: "list" },
      element("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": caption },
        element("table", {}, element("caption", {}, caption), element("thead", {}, this.headRow()), this.body)),
      this.more);
    this.update();
    this.keepSort();
  }

  keepSort() {
    if (document.documentElement.dataset.rendered) return;
    const initial = this.sortText();
    for (let count = 1; !this.sortState; ++count) {
      const key = `sort-${this.name}` + (count === 1 ? "" : count);
      if (!stateReaders.has(key)) this.sortState = { key, initial };
    }
    onState(this.sortState.key, (text) => this.sortAs(text || initial));
  }

  // Returns the key of the sorted column, with a minus for descending order.
  sortText() {
    return (this.ascending ? "" : "-") + this.sort;
  }

  sortAs(text) {
    const key = text.replace(/^-/, "");
    if (!this.columns.some((column) => column.key === key)) return;
    this.sort = key;
    this.ascending = !text.startsWith("-");
    this.update();
  }

  headRow() {
    this.heads = this.columns.map((column) => {
      const button = element("button", { type: "button", onclick: () => this.sortBy(column) }, column.label);
      return element("th", { scope: "col", class: this.classOf(column) }, button);
    });
    return element("tr", {}, this.heads);
  }

  classOf(column) {
    return [column.number ? "number" : "", column.optional ? "optional" : "", column.key].filter(Boolean).join(" ");
  }

  // A second click on a column reverses the order.
  sortBy(column) {
    this.ascending = this.sort === column.key ? !this.ascending : !(column.number || column.largestFirst);
    this.sort = column.key;
    this.update();
    if (!this.sortState) return;
    const text = this.sortText();
    writeState(this.sortState.key, text === this.sortState.initial ? "" : text);
  }

  // Shows only the rows for which `accepts` returns true.
  filter(accepts) {
    this.visible = this.rows.filter(accepts);
    this.shown = this.page;
    this.update();
  }

  sorted() {
    const { value } = this.columns.find((column) => column.key === this.sort);
    const sign = this.ascending ? 1 : -1;
    const keys = this.visible.map((row, i) => [value(row), i, row]);
    keys.sort(([a, i], [b, j]) => (a < b ? -sign : a > b ? sign : i - j));
    return keys.map(([, , row]) => row);
  }

  update() {
    const order = this.sorted();
    this.columns.forEach((column, i) => {
      const state = column.key === this.sort ? (this.ascending ? "ascending" : "descending") : "none";
      this.heads[i].setAttribute("aria-sort", state);
    });
    this.body.replaceChildren(...order.slice(0, this.shown).map((row) => this.rowNode(row)));
    this.showMore(order.length);
    this.onChange(order);
  }

  rowNode(row) {
    const [name, ...others] = this.columns;
    const content = name.cell(row);
    const head = element("th", { class: this.classOf(name), scope: "row" },
      this.onOpen ? element("button", { type: "button", class: "open" }, content) : content);
    if (head.textContent.length > LONG_NAME) head.classList.add("long");
    const open = this.onOpen && ((event) => event.target.closest("a, td button") || this.onOpen(row));
    return element("tr", { onclick: open, class: this.onOpen && "opens" }, head,
      others.map((column) => element("td", { class: this.classOf(column) }, column.cell(row))));
  }

  showMore(count) {
    const hidden = count - Math.min(this.shown, count);
    this.more.replaceChildren();
    if (count === 0) this.more.append(`No ${this.noun} matches.`);
    if (hidden === 0) return;
    const show = (shown) => () => {
      this.shown = shown;
      this.update();
    };
    this.more.append(`… and ${plural(hidden, this.noun)} more `);
    if (hidden > 10 * this.page) {
      const label = `Show ${formatCount(10 * this.page)} more`;
      this.more.append(element("button", { type: "button", onclick: show(this.shown + 10 * this.page) }, label), " ");
    }
    this.more.append(
      element("button", { type: "button", onclick: show(Infinity) }, "Show all"));
  }
}
