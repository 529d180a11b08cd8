// The page of a saved answer of any command: single values as figures, lists as tables.

const MOST_ENTRIES = 20000;  // most of a list on the page

const whole = isObject(data.answer) ? data.answer : { [Array.isArray(data.answer) ? "entries" : "value"]: data.answer };
const members = membersOf(whole);
const figures = members.filter(([, value]) => isCell(value) && !(Array.isArray(value) && value.length === 0));
// Hashes and names of formats are not shown as figures; long texts have a table.
const isLong = ([name, value]) => cellText(name, value).length > LONG_NAME;
const lists = members.filter(([name, value]) => !isCell(value) && !isNames(name, value));

// Returns true for "columns", which names the columns of another list.
function isNames(name, value) {
  return name === "columns" && Array.isArray(value);
}

function figuresNode(entries) {
  return element("dl", { class: "facts" }, entries.map(([name, value]) => fact(titleOf(name), cellText(name, value))));
}

function textsNode(entries) {
  const columns = [{ key: "name", label: "Name", value: ([name]) => name, cell: ([name]) => titleOf(name) }, { key: "text", label: "Text", value: ([, value]) => String(value), cell: ([name, value]) => element("span", { class: "text" }, cellText(name, value)) }];
  return new List({ columns, rows: entries, sort: "name", ascending: true, page: 40, noun: "text", caption: "Texts" }).node;
}

// Columns of rows that are lists, where the answer does not name them.
const COLUMNS = { ranks: ["rank", "sent bytes", "received bytes", "kept bytes"], hosts: ["host", "sent bytes", "received bytes"] };

// Returns the panel's content for a row: all its cells and its lists.
function rowNodes(row, columns) {
  const cells = [...row.cells];
  const texts = cells.filter(isLong);
  return [figuresNode(cells.filter((cell) => !isLong(cell))), texts.length > 0 ? textsNode(texts) : null, row.lists.flatMap(([name, value]) => [element("h3", {}, titleOf(name)), tableNodes(name, value, columns ?? row.cells.get("columns"), null)])];
}

function findRow(name) {
  const [, list, number] = /^(.*) (\d+)$/.exec(name) ?? [];
  const found = lists.find(([key]) => key === list);
  const row = found && rowsOf(asList(found[1]), COLUMNS[list] ?? whole.columns)[Number(number)];
  if (!row) return null;
  const named = ["name", "table", "id"].map((key) => row.cells.get(key)).find((text) => typeof text === "string");
  return { title: named ?? `${titleOf(list)} ${number}`, nodes: () => rowNodes(row, row.lists.length > 0 ? (asList(found[1])[Number(number)].columns ?? whole.columns) : null) };
}

function listSection([name, value], panel) {
  const entries = asList(value);
  const shown = entries.slice(0, MOST_ENTRIES);
  const cut = entries.length > shown.length ? element("p", { class: "note" }, `The first ${formatCount(shown.length)} of ${plural(entries.length, "row")}; the file has all.`) : null;
  return section(name.replaceAll(" ", "-"), titleOf(name), cut, tableNodes(name, shown, COLUMNS[name] ?? whole.columns, panel));
}

function showAnswer() {
  const panel = new Panel(findRow);
  const longOnes = figures.filter(isLong);
  const shortOnes = figures.filter((figure) => !isLong(figure));
  const counted = lists.map(([name, value]) => `${plural(asList(value).length, "row")} of ${titleOf(name).toLowerCase()}`);
  const title = titleOf(data.title);
  showPage(title, [element("h1", {}, title), element("p", { class: "subtitle" }, [data.file ? `From ${data.file}` : null, counted.length > 0 ? counted.join(", ") : null].filter(Boolean).join(": "))],
    [shortOnes.length > 0 ? section("figures", "Figures", figuresNode(shortOnes)) : null, gpuLoadsSection(whole), ...lists.map((list) => listSection(list, panel)),
      longOnes.length > 0 ? section("texts", "Texts", textsNode(longOnes)) : null]);
}

showAnswer();
