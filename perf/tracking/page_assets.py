"""Style and script of the page. Without the script the table is complete but cannot be sorted."""

STYLE = """
:root { color-scheme: light dark; --text: #1a1d21; --ground: #fff; --line: #d5d9de; --quiet: #5b6470;
  --good: #0b6b2e; --bad: #a3161b; --odd: #7a5200; --plot: #1f5fae; }
@media (prefers-color-scheme: dark) {
  :root { --text: #e6e8eb; --ground: #15181c; --line: #363c44; --quiet: #9aa4b0;
    --good: #5fd38a; --bad: #ff8b86; --odd: #f0c05a; --plot: #7fb4f5; } }
body { font: 15px/1.45 system-ui, sans-serif; color: var(--text); background: var(--ground);
  margin: 2rem auto; max-width: 84rem; padding: 0 1rem; }
h1 { font-size: 1.5rem; margin: 0 0 .5rem; }
.quiet { color: var(--quiet); font-size: .85rem; }
.summary { list-style: none; display: flex; flex-wrap: wrap; gap: 1rem; padding: 0; }
table { border-collapse: collapse; width: 100%; }
th, td { text-align: left; padding: .35rem .6rem; border-bottom: 1px solid var(--line); vertical-align: middle; }
thead th { position: sticky; top: 0; background: var(--ground); }
th button { all: unset; cursor: pointer; font-weight: 600; }
th button:focus-visible { outline: 2px solid var(--plot); }
th[aria-sort=ascending] button::after { content: " \\2191"; }
th[aria-sort=descending] button::after { content: " \\2193"; }
.number { text-align: right; font-variant-numeric: tabular-nums; white-space: nowrap; }
.verdict { font-weight: 600; white-space: nowrap; }
.verdict.good { color: var(--good); } .verdict.bad { color: var(--bad); } .verdict.odd { color: var(--odd); }
.verdict.same { color: var(--quiet); font-weight: 400; }
svg polyline { fill: none; stroke: var(--plot); stroke-width: 1.5; }
svg circle { fill: var(--plot); }
input { font: inherit; padding: .2rem .4rem; }
"""

SCRIPT = """
const body = document.querySelector('tbody');
const heads = [...document.querySelectorAll('thead th')];
function key(row, column) {
  const cell = row.cells[column];
  const text = cell.dataset.order ?? cell.textContent;
  const value = Number(text);
  return text !== '' && !Number.isNaN(value) ? value : text;
}
heads.forEach((head, column) => head.querySelector('button').addEventListener('click', () => {
  const down = head.getAttribute('aria-sort') === 'ascending';
  heads.forEach(other => other.removeAttribute('aria-sort'));
  head.setAttribute('aria-sort', down ? 'descending' : 'ascending');
  const rows = [...body.rows].sort((a, b) => {
    const x = key(a, column), y = key(b, column);
    const order = typeof x === typeof y ? (x < y ? -1 : x > y ? 1 : 0) : String(x).localeCompare(String(y));
    return down ? -order : order;
  });
  body.append(...rows);
}));
document.getElementById('filter').addEventListener('input', event => {
  const words = event.target.value.toLowerCase().split(/\\s+/);
  for (const row of body.rows) {
    const text = row.textContent.toLowerCase();
    row.hidden = !words.every(word => text.includes(word));
  }
});
"""
