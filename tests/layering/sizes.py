"""Lengths of C++ functions."""

import math
import re

FUNCTION_LIMIT, FUNCTION_P90_LIMIT = 60, 24
# (path, function): why it may be longer. Should stay empty.
EXCEPTIONS = {}

# A preprocessor line may hold half a block, so its braces do not count.
NOISE = re.compile(
    r'//[^\n]*|/\*.*?\*/|R"(?P<mark>[^()\s]*)\(.*?\)(?P=mark)"|"(?:\\.|[^"\\\n])*"'
    r"|(?<![0-9A-Fa-f])'(?:\\.|[^'\\\n])+'|^[ \t]*#(?:[^\n]*\\\n)*[^\n]*",
    re.DOTALL | re.MULTILINE)
TYPE_OR_NAMESPACE = re.compile(
    r"^(?:template\s*<.*>\s*)?(?:export\s+|inline\s+|typedef\s+)*(namespace|class|struct|union|enum|extern)\b",
    re.DOTALL)
NAME = re.compile(r"([~\w:]+(?:\s*operator\s*[^\s(]+|operator\s*\(\))?)\s*\(")


def without_noise(text):
    """Removes comments, strings and preprocessor lines, but keeps line breaks."""
    return NOISE.sub(lambda match: "\n" * match.group(0).count("\n"), text)


class Head:
    """The text before an opening brace, from the end of the last statement on."""

    def __init__(self):
        self.clear()

    def clear(self):
        self.text, self.line, self.depth = "", None, 0

    def add(self, character, line):
        if self.line is None and not character.isspace():
            self.line = line
        self.text += character
        self.depth += {"(": 1, ")": -1}.get(character, 0)

    def opens(self):
        """Returns what the brace opens: "function", "scope" (members or declarations) or "value" (an initialiser)."""
        text = self.text.strip()
        text = re.sub(r"^(?:(?:public|private|protected)\s*:\s*)+", "", text)
        if TYPE_OR_NAMESPACE.match(text) and not self.is_function(text):
            return "value" if re.search(r"\benum\b", text) else "scope"
        return "function" if self.is_function(text) else "value"

    @staticmethod
    def is_function(text):
        bare = re.sub(r"\boperator\s*(?:\(\)|[^\s\w(]+)", "operator_", text)
        bare = re.sub(r"<[^<>]*>", "", bare)
        return bool(re.search(r"[\w\]>~]\s*\(", bare)) and not re.search(r"(?<![=!<>])=(?!=)", bare.split(")")[0])


def closing_brace(text, start):
    depth = 0
    for place in range(start, len(text)):
        depth += {"{": 1, "}": -1}.get(text[place], 0)
        if depth == 0:
            return place
    return len(text) - 1


def functions(text):
    """Yields (first line, name, lines from the first of the signature to the closing brace) of each definition.

    Lambdas count as part of the function or variable around them.
    """
    text = without_noise(text)
    head, place, line = Head(), 0, 1
    while place < len(text):
        character = text[place]
        if character == "\n":
            line += 1
        if character == "{" and head.depth == 0:
            kind = head.opens()
            if kind == "scope":
                head.clear()
            else:
                end = closing_brace(text, place)
                last = line + text.count("\n", place, end)
                following = text[end + 1:].lstrip()[:1]
                # `member_{value},` and `member_{value} {` belong to the initialisers of a constructor.
                if kind == "function" and following not in (",", "{", ";", ")"):
                    found = NAME.search(head.text)
                    yield head.line, found.group(1) if found else "?", last - head.line + 1
                    head.clear()
                else:
                    head.text += "{}"
                place, line = end, last
        elif character == "}" or (character == ";" and head.depth == 0):
            head.clear()
        else:
            head.add(character, line)
        place += 1


def percentile_90(values):
    values = sorted(values)
    return values[math.ceil(0.9 * len(values)) - 1] if values else 0


def violations(texts):
    """`texts`: path to contents, of the source files of the three floors."""
    lengths = []
    for path, text in texts.items():
        for line, name, length in functions(text):
            lengths.append(length)
            if length > FUNCTION_LIMIT and (path, name) not in EXCEPTIONS:
                yield path, line, "size", f"{name} has {length} lines; at most {FUNCTION_LIMIT}"
    found = percentile_90(lengths)
    if found > FUNCTION_P90_LIMIT:
        yield ".", 1, "size", f"one in ten functions has {found} lines or more; at most {FUNCTION_P90_LIMIT}"
