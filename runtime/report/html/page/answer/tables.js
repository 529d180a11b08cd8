// Shows the lists of an answer as tables.

// Returns rows {number, cells: Map of name to value, lists: [name, list]}. If entries are lists, `columns` names their values.
function rowsOf(list, columns) {
  return list.map((entry, number) => {
    const members = Array.isArray(entry) ? entry.map((value, i) => [columns?.[i] ?? `${i}`, value]) : membersOf(entry);
    return { number, cells: new Map(members.filter(([, value]) => isCell(value))), lists: members.filter(([, value]) => !isCell(value)) };
  });
}

// Turns an object with similar members into a list whose entries begin with the member's name.
function listOfObject(object) {
  return Object.entries(object).map(([name, value]) => (isObject(value) ? { name, ...value } : { name, value }));
}

const asList = (value) => (Array.isArray(value) ? value : listOfObject(value));

// The panel of a row shows further columns and texts in full.
const MOST_COLUMNS = 7;
const ON_PHONES = 2;
const MOST_TEXT = 60;

const cutText = (text) => (text.length > MOST_TEXT ? text.slice(0, MOST_TEXT - 1) + "…" : text);

function isCut(row, columns) {
  return columns.length > MOST_COLUMNS + 1 || row.lists.length > 0 || [...row.cells].some(([name, value]) => cellText(name, value).length > MOST_TEXT);
}

function columnsOf(rows) {
  const names = new Set(rows.flatMap((row) => [...row.cells.keys()]));
  const isNumber = (name) => rows.every(({ cells }) => [null, undefined].includes(cells.get(name)) || typeof cells.get(name) === "number");
  const columns = [...names].filter((name) => rows.some(({ cells }) => cells.has(name) && cells.get(name) !== null)).map((name, place) => {
    const number = isNumber(name);
    const value = ({ cells }) => (number ? cells.get(name) ?? -Infinity : cellText(name, cells.get(name)));
    return { key: name, label: titleOf(name), number, optional: place >= ON_PHONES, value, csv: ({ cells }) => cells.get(name) ?? "", cell: ({ cells }) => element("span", { class: !number && "text" }, cutText(cellText(name, cells.get(name)))) };
  });
  const order = { key: "#", label: "#", value: (row) => row.number, cell: (row) => String(row.number) };
  return [order, ...columns];
}

// Returns the nodes of a table. `panel` shows what does not fit into a row; it may be null.
function tableNodes(name, value, columns, panel) {
  const rows = rowsOf(asList(value), columns);
  const shown = columnsOf(rows);
  const title = titleOf(name);
  const onOpen = panel && rows.some((row) => isCut(row, shown)) ? (row) => panel.toggle(`${name} ${row.number}`) : null;
  const list = new List({ columns: shown.slice(0, MOST_COLUMNS + 1), rows, sort: "#", ascending: true, page: 25, noun: "row", name, caption: title, onOpen });
  if (rows.length <= 5) return [list.node];
  const textOf = (row) => [...row.cells].map(([key, cell]) => cellText(key, cell)).join(" ");
  const finder = new Finder(list, { textOf, hint: `Search ${title.toLowerCase()}`, state: panel ? `find-${name}` : null, csv: [name, csvColumns(shown)] });
  return [finder.node, list.node];
}
