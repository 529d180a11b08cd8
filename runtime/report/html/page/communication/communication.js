// The page of programs, or of single tensors that get another placement: who sends what to whom, and when.

const groups = data.groups.map((flat) => {
  const ranks = [];
  for (let i = 0; i < flat.length; i += 2) for (let k = 0; k < flat[i + 1]; ++k) ranks.push(flat[i] + k);
  return ranks;
});

const noun = data.of_tensors ? "case" : "program";
const chosen = Math.min(Number(stateParts().get("entry")) || 0, data.entries.length - 1);
const entry = data.entries[chosen];
const ranksText = (ranks) => formatRanges([...ranks].sort((a, b) => a - b).map((rank) => ({ first: rank, count: 1 })), 4);

const communications = entry.communications.map(([type, group, start, us, pair, tensor, reader, received = start], number) => {
  const [kind, words] = kindOf(data.names[type]);
  const ranks = groups[group];
  const isMessage = kind === "message";
  return { number, type: data.names[type], kind, words, ranks, start, us, received, pair, isMessage, tensor: data.names[tensor], reader: data.names[reader],
    sent: pair * (isMessage ? 1 : ranks.length - 1), moved: pair * (isMessage ? 1 : ranks.length * (ranks.length - 1)) };
});

const whoText = (one) => (one.isMessage ? `${one.ranks[0]} → ${one.ranks[1]}` : ranksText(one.ranks));

function textOf(one) {
  return `${one.words} of ${one.tensor}${one.reader ? ", for " + one.reader : ""}\n${one.isMessage ? "rank" : "ranks"} ${whoText(one)}\n` +
    `each sends ${formatBytes(one.sent)}\n${formatUs(one.start)} to ${formatUs(one.start + one.us)}`;
}

function leadText() {
  if (communications.length === 0) return "Nothing is sent: every rank has what it needs.";
  const byKind = new Map();
  for (const one of communications) byKind.set(one.words, (byKind.get(one.words) ?? 0) + 1);
  const kinds = [...byKind].sort((a, b) => b[1] - a[1]).map(([words, count]) => plural(count, words)).join(", ");
  return `${plural(entry.ranks.length, "rank")} send ${formatBytes(entry.moved)} to each other in ${formatUs(entry.total)}, if computing takes no time: ${kinds}.`;
}

function header() {
  const busiest = entry.ranks.reduce((most, rank) => (rank[5] > most[5] ? rank : most), entry.ranks[0]);
  const sender = entry.ranks.reduce((most, rank) => (rank[1] > most[1] ? rank : most), entry.ranks[0]);
  return [
    element("h1", {}, entry.name || (data.of_tensors ? "Resharding" : "Program")),
    element("p", { class: "subtitle" }, (data.entries.length > 1 ? `${noun} ${formatCount(chosen + 1)} of ${formatCount(data.entries.length)}` : "") + (entry.note && data.entries.length > 1 ? ". " : "") + entry.note),
    element("p", { class: "lead" }, leadText()),
    communications.length === 0 ? null : element("dl", { class: "facts" },
      fact("Until all have finished", formatUs(entry.total), `rank ${busiest[0]} is last`), fact("Moved", formatBytes(entry.moved), "between ranks"),
      fact("Communications", formatCount(entry.count)), fact("Sends most", formatBytes(sender[1]), `rank ${sender[0]}`)),
  ];
}

function timelineSection(timeline) {
  const kinds = [...new Map(communications.map((one) => [one.kind, one.words]))];
  return section("timeline", "When", element("p", { class: "note" }, "A collective begins when all of its ranks have come to it. Times are those of Paddle's cost model; computing takes no time here." +
    " A click tells more."), legend(kinds), timeline.node);
}

function flowsSection() {
  const ranks = entry.ranks.map(([rank]) => rank);
  const width = ranks.length <= 64 ? 1 : 2 ** Math.ceil(Math.log2(ranks.length / 64));
  const places = new Map(ranks.map((rank, i) => [rank, Math.floor(i / width)]));
  const blocks = [];
  ranks.forEach((rank, i) => {
    const block = (blocks[places.get(rank)] ??= [rank, rank, 0]);
    block[1] = rank;
    ++block[2];
  });
  const sums = new Map();
  const add = (from, to, bytes) => {
    const [a, b] = [places.get(from), places.get(to)];
    if (a !== undefined && b !== undefined && bytes > 0) sums.set(a * blocks.length + b, (sums.get(a * blocks.length + b) ?? 0) + bytes);
  };
  for (const { ranks: group, pair, isMessage } of communications) {
    if (isMessage) add(group[0], group[1], pair);
    else for (const from of group) for (const to of group) if (from !== to) add(from, to, pair);
  }
  if (sums.size === 0) return null;
  const flows = [...sums].sort((a, b) => a[0] - b[0]).map(([place, bytes]) => [Math.floor(place / blocks.length), place % blocks.length, bytes]);
  const matrix = new FlowMatrix({ senders: blocks, receivers: blocks, flows, ranksPerHost: 8 });
  return section("flows", "Who sends what to whom", element("p", { class: "note" }, matrix.noteText() + " In a collective every rank sends its part to every other one."), matrix.frame, matrix.list());
}

function communicationsSection(panel) {
  const columns = [
    { key: "what", label: "What", value: (c) => c.words, cell: (c) => c.words },
    { key: "start", label: "Start µs", number: true, value: (c) => c.start, cell: (c) => significant(c.start, 4) },
    { key: "us", label: "µs", number: true, value: (c) => c.us, cell: (c) => significant(c.us, 4) },
    { key: "who", label: "Ranks", value: (c) => c.ranks[0], csv: (c) => whoText(c).replaceAll("–", "-").replace("→", "to"), cell: whoText },
    { key: "sent", label: "Each sends", number: true, value: (c) => c.sent, cell: (c) => formatBytes(c.sent) },
    { key: "tensor", label: "Tensor", optional: true, value: (c) => c.tensor, cell: (c) => breakable(c.tensor) },
    { key: "reader", label: "For", optional: true, value: (c) => c.reader, cell: (c) => breakable(c.reader || "–") },
  ];
  const list = new List({ columns, rows: communications, sort: "start", ascending: true, page: 30, noun: "communication", caption: "Communications in the order of time", onOpen: (one) => panel.toggle(`communication ${one.number}`) });
  const matches = (one, word) => {
    const found = /^rank:(\d+)$/.exec(word);
    return found ? one.ranks.includes(Number(found[1])) : undefined;
  };
  const finder = new Finder(list, { textOf: (c) => `${c.words} ${c.type} ${c.tensor} ${c.reader}`, matches, hint: "Search: rank:3, a tensor, all-gather", state: "find", csv: ["communications", csvColumns(columns)] });
  const rest = entry.count - communications.length;
  return section("communications", "Communications", finder.node, list.node, rest > 0 ? element("p", { class: "note" }, `${plural(rest, "communication")} are left out of this page.`) : null);
}

function ranksSection() {
  const most = entry.ranks.reduce((us, rank) => Math.max(us, rank[5]), 0);
  const figure = (key, label, at, format, more = {}) => ({ key, label, number: true, value: (r) => r[at], cell: (r) => format(r[at]), ...more });
  const columns = [
    { key: "rank", label: "Rank", value: (r) => r[0], cell: (r) => String(r[0]) },
    figure("sent", "Sends", 1, formatBytes), figure("received", "Receives", 2, formatBytes),
    { key: "drawn", label: "Time", largestFirst: true, value: (r) => r[5], cell: (r) => bar([["held", r[3]], ["spare", r[4]]], most, `${formatUs(r[3])} communication, ${formatUs(r[4])} cutting and joining, finished after ${formatUs(r[5])}`) },
    figure("us", "Communication µs", 3, (us) => significant(us, 4), { optional: true }), figure("local", "Cutting and joining µs", 4, (us) => significant(us, 4), { optional: true }),
    figure("finish", "Finished µs", 5, (us) => significant(us, 4)),
  ];
  const list = new List({ columns, rows: entry.ranks, sort: "rank", ascending: true, page: 16, noun: "rank", caption: "Ranks" });
  return section("ranks", "Ranks", legend([["held", "communication"], ["spare", "cutting and joining"], ["room", "waiting for others"]]), list.node);
}

// All entries of the page; a click shows another one.
function entriesSection() {
  if (data.entries.length < 2) return null;
  const rows = data.entries.map((own, number) => ({ ...own, number }));
  const columns = [
    { key: "name", label: data.of_tensors ? "Case" : "Program", value: (e) => e.number, csv: (e) => e.name, cell: (e) => (e.number === chosen ? element("strong", {}, e.name || "–") : e.name || "–") },
    { key: "us", label: "µs", number: true, value: (e) => e.total, cell: (e) => significant(e.total, 4) },
    { key: "moved", label: "Moved", number: true, value: (e) => e.moved, cell: (e) => formatBytes(e.moved) },
    { key: "count", label: "Communi\u00adcations", number: true, value: (e) => e.count, cell: (e) => formatCount(e.count) },
    { key: "note", label: "Note", optional: true, value: (e) => e.note, cell: (e) => e.note, used: rows.some((e) => e.note) },
  ];
  const show = (e) => {
    location.hash = e.number === 0 ? "#entries" : `#entry=${e.number}`;
    location.reload();
  };
  const list = new List({ columns, rows, sort: "name", ascending: true, page: 12, noun, caption: data.of_tensors ? "Cases" : "Programs", onOpen: show });
  const finder = new Finder(list, { textOf: (e) => `${e.name} ${e.note}`, hint: `Search ${noun}s`, csv: [noun + "s", csvColumns(columns)] });
  return section("entries", data.of_tensors ? "All cases" : "All programs", finder.node, list.node);
}

function showCommunication() {
  const panel = new Panel((name) => {
    const one = communications[Number(/^communication (\d+)$/.exec(name)?.[1])];
    return one ? { title: `${one.words} of ${one.tensor}`, nodes: () => communicationNodes(one) } : null;
  });
  const onOpen = (one) => panel.toggle(`communication ${one.number}`);
  const timeline = new Timeline({ ranks: entry.ranks.map(([rank]) => rank), communications, total: entry.total, textOf, onOpen });
  panel.onShow = (name) => timeline.mark(communications[Number(name.replace("communication ", "") || -1)] ?? null);
  const sections = communications.length === 0 ? [] : [timelineSection(timeline), flowsSection(), communicationsSection(panel), ranksSection()];
  showPage(entry.name || "Communication", header(), [...sections, entriesSection()]);
}

function communicationNodes(one) {
  return [
    element("dl", { class: "facts" }, fact("From", formatUs(one.start), one.received > one.start ? `received from ${formatUs(one.received)}` : `to ${formatUs(one.start + one.us)}`), fact("Takes", formatUs(one.us)),
      fact(one.isMessage ? "Message" : "Each rank sends", formatBytes(one.sent), one.isMessage ? null : `${formatBytes(one.pair)} to each of the others`),
      one.isMessage ? null : fact("Moved in all", formatBytes(one.moved))),
    element("p", {}, one.isMessage ? `Rank ${one.ranks[0]} sends to rank ${one.ranks[1]}.` : `Ranks ${ranksText(one.ranks)} take part.`),
    element("p", {}, "Operator ", element("code", {}, one.type), one.reader ? [", for ", element("code", {}, one.reader)] : []),
  ];
}

showCommunication();
