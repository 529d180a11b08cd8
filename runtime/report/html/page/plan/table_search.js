// Words that find tables by place: "rank:3", "rank:0-3", "host:1".

const PLACE_WORD = /^(rank|host):(\d+)(?:-(\d+))?$/;
const isPlaceWord = (word) => PLACE_WORD.test(word);

// Returns [first, last] of the ranks that a word names; null for other words.
function ranksOfWord(word) {
  const found = PLACE_WORD.exec(word);
  if (!found) return null;
  const size = found[1] === "host" ? data.problem.ranks_per_host : 1;
  return [Number(found[2]) * size, (Number(found[3] ?? found[2]) + 1) * size - 1];
}

function matchesPlace(table, word) {
  const span = ranksOfWord(word);
  return span ? table.shards.some(({ first, count }) => first <= span[1] && first + count - 1 >= span[0]) : undefined;
}
