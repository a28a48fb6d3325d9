// Lines at the margin are directives; the kernel text is what stands between them.
#include "tests/case_file.h"

#include <cmath>
#include <cstdlib>
#include <cstring>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "isa/status.h"
#include "tests/float_format.h"

namespace tilevm::tests {
namespace {

// One line, so that a place in the kernel is one line further down than in the case.
constexpr char kTritonPrelude[] =
    "import torch, triton, triton.language as tl; from triton.language.extra import libdevice; from typing import NamedTuple\n";

struct Line {
  int number;
  std::string text;  // substituted
};

absl::Status Bad(absl::string_view path, int line, absl::string_view message) {
  return absl::InvalidArgumentError(absl::StrCat(path, ":", line, ": ", message));
}

absl::string_view FirstWord(absl::string_view line) { return line.substr(0, line.find_first_of(" \t(")); }

bool IsSourceStart(absl::string_view word) {
  return word == "kernel" || word == "function" || word == "cell" || word == "unit" || word == "import";
}

// --- sweeps ------------------------------------------------------------------------------------------------------------------------------

using Binding = std::vector<std::pair<std::string, std::string>>;

struct Sweep {
  std::vector<Binding> rows;
};

absl::StatusOr<Sweep> ParseSweep(absl::string_view path, const Line& line) {
  std::vector<absl::string_view> halves = absl::StrSplit(absl::string_view(line.text).substr(4), absl::MaxSplits(" in ", 1));
  if (halves.size() != 2) return Bad(path, line.number, "for NAME[,NAME] in VALUE...");
  std::vector<std::string> names = absl::StrSplit(absl::StripAsciiWhitespace(halves[0]), ',');
  Sweep sweep;
  for (absl::string_view entry : absl::StrSplit(halves[1], ' ', absl::SkipWhitespace())) {
    if (entry[0] == '#') break;
    std::vector<std::string> values = absl::StrSplit(entry, ',');
    if (values.size() != names.size()) return Bad(path, line.number, absl::StrCat("'", entry, "' has another number of values"));
    Binding binding;
    for (size_t i = 0; i < names.size(); ++i) binding.emplace_back(names[i], values[i]);
    sweep.rows.push_back(std::move(binding));
  }
  return sweep;
}

std::vector<Binding> Combine(const std::vector<Sweep>& sweeps) {
  std::vector<Binding> all = {{}};
  for (const Sweep& sweep : sweeps) {
    std::vector<Binding> next;
    for (const Binding& left : all) {
      for (const Binding& right : sweep.rows) {
        next.push_back(left);
        next.back().insert(next.back().end(), right.begin(), right.end());
      }
    }
    all = std::move(next);
  }
  return all;
}

std::string Substitute(absl::string_view text, const Binding& binding) {
  std::string result(text);
  for (const auto& [name, value] : binding) {
    absl::StrReplaceAll({{absl::StrCat("${", name, "}"), value}}, &result);
    absl::StrReplaceAll({{absl::StrCat("$", name), value}}, &result);
  }
  return result;
}

// --- directives --------------------------------------------------------------------------------------------------------------------------

// "2**-22" or an ordinary number.
bool ParseBound(absl::string_view text, double* value) {
  double exponent;
  if (absl::ConsumePrefix(&text, "2**")) {
    if (!absl::SimpleAtod(text, &exponent)) return false;
    *value = std::exp2(exponent);
    return true;
  }
  return absl::SimpleAtod(text, value);
}

// The comment behind the values of an output: "rel 2**-22 abs 1e-6: why", "bits: why", or an ordinary remark.
absl::StatusOr<Tolerance> ParseTolerance(absl::string_view comment) {
  Tolerance tolerance;
  absl::string_view head = comment.substr(0, comment.find(':'));
  std::vector<absl::string_view> words = absl::StrSplit(head, ' ', absl::SkipWhitespace());
  if (words.empty() || (words[0] != "rel" && words[0] != "abs" && words[0] != "bits")) return tolerance;
  size_t colon = comment.find(':');
  if (colon != absl::string_view::npos) tolerance.reason = std::string(absl::StripAsciiWhitespace(comment.substr(colon + 1)));
  if (tolerance.reason.empty()) return absl::InvalidArgumentError("a tolerance needs its reason: # rel 2**-22: why");
  for (size_t i = 0; i < words.size(); ++i) {
    if (words[i] == "bits") {
      tolerance.nan_bits = true;
    } else if (i + 1 < words.size() && (words[i] == "rel" || words[i] == "abs")) {
      double* bound = words[i] == "rel" ? &tolerance.rel : &tolerance.abs;
      if (!ParseBound(words[++i], bound)) return absl::InvalidArgumentError(absl::StrCat("not a bound: ", words[i]));
    } else {
      return absl::InvalidArgumentError(absl::StrCat("not part of a tolerance: ", words[i]));
    }
  }
  return tolerance;
}

bool LooksLikeExpression(absl::string_view text) {
  if (absl::StartsWith(text, "numpy ")) return true;
  absl::string_view word = text.substr(0, text.find_first_of(" ("));
  return word.size() < text.size() && text[word.size()] == '(' && !word.empty() && absl::ascii_isalpha(word[0]);
}

absl::Status SetValues(absl::string_view text, BufferSpec& spec, std::string* expression, Elements* elements) {
  text = absl::StripAsciiWhitespace(text);
  if (text == "uninitialised") {
    spec.uninitialised = true;
    elements->bytes.assign(spec.byte_count(), 0xa5);
    return absl::OkStatus();
  }
  if (LooksLikeExpression(text)) {
    absl::ConsumePrefix(&text, "numpy ");
    *expression = std::string(absl::StripAsciiWhitespace(text));
    return absl::OkStatus();
  }
  TILEVM_ASSIGN_OR_RETURN(*elements, ParseElements(spec.dtype, spec.elem_count(), text));
  return absl::OkStatus();
}

// "NAME f32[8,4] = VALUES [-> VALUES] [# tolerance]"
absl::StatusOr<BufferSpec> ParseBuffer(BufferSpec::Role role, absl::string_view text) {
  BufferSpec spec;
  spec.role = role;
  std::vector<absl::string_view> halves = absl::StrSplit(text, absl::MaxSplits('=', 1));
  if (halves.size() != 2) return absl::InvalidArgumentError("NAME TYPE[SHAPE] = VALUES");
  std::vector<absl::string_view> head = absl::StrSplit(halves[0], ' ', absl::SkipWhitespace());
  size_t bracket = head.size() == 2 ? head[1].find('[') : absl::string_view::npos;
  if (bracket == absl::string_view::npos || head[1].back() != ']') return absl::InvalidArgumentError("NAME TYPE[SHAPE] = VALUES");
  spec.name = std::string(head[0]);
  std::optional<isa::DType> dtype = isa::DTypeFromName(head[1].substr(0, bracket));
  if (!dtype.has_value()) return absl::InvalidArgumentError(absl::StrCat("not a type: ", head[1].substr(0, bracket)));
  spec.dtype = *dtype;
  for (absl::string_view extent : absl::StrSplit(head[1].substr(bracket + 1, head[1].size() - bracket - 2), ',')) {
    int64_t value;
    if (!absl::SimpleAtoi(extent, &value) || value < 0) return absl::InvalidArgumentError(absl::StrCat("not an extent: ", extent));
    spec.shape.push_back(value);
  }
  absl::string_view values = halves[1];
  if (size_t hash = values.find('#'); hash != absl::string_view::npos) {
    TILEVM_ASSIGN_OR_RETURN(spec.tolerance, ParseTolerance(absl::StripAsciiWhitespace(values.substr(hash + 1))));
    values = values.substr(0, hash);
  }
  if (role == BufferSpec::Role::kInOut) {
    std::vector<absl::string_view> sides = absl::StrSplit(values, "->");
    if (sides.size() != 2) return absl::InvalidArgumentError("inout NAME TYPE[SHAPE] = BEFORE -> AFTER");
    TILEVM_RETURN_IF_ERROR(SetValues(sides[0], spec, &spec.before_expr, &spec.before));
    TILEVM_RETURN_IF_ERROR(SetValues(sides[1], spec, &spec.after_expr, &spec.after));
    return spec;
  }
  bool in = role == BufferSpec::Role::kIn;
  TILEVM_RETURN_IF_ERROR(SetValues(values, spec, in ? &spec.before_expr : &spec.after_expr, in ? &spec.before : &spec.after));
  return spec;
}

absl::StatusOr<ArgSpecText> ParseArg(absl::string_view text) {
  std::vector<absl::string_view> halves = absl::StrSplit(text, absl::MaxSplits('=', 1));
  std::vector<absl::string_view> head = absl::StrSplit(halves[0], ' ', absl::SkipWhitespace());
  if (halves.size() != 2 || head.empty() || head.size() > 2) return absl::InvalidArgumentError("arg NAME [TYPE] = VALUE");
  ArgSpecText arg;
  arg.name = std::string(head[0]);
  if (head.size() == 2) arg.type = std::string(head[1]);
  arg.value = std::string(absl::StripAsciiWhitespace(halves[1]));
  return arg;
}

bool ParsePlace(absl::string_view text, int* line, int* col) {
  std::vector<absl::string_view> parts = absl::StrSplit(text, ':');
  return parts.size() == 2 && absl::SimpleAtoi(parts[0], line) && absl::SimpleAtoi(parts[1], col);
}

// "LINE:COL MESSAGE"; the message runs to the end of the line.
absl::StatusOr<Expectation> ParseError(absl::string_view text) {
  Expectation expected;
  if (absl::ConsumePrefix(&text, "checked ")) expected.in_fast = false;
  if (absl::ConsumePrefix(&text, "fast ")) expected.in_checked = false;
  std::vector<absl::string_view> parts = absl::StrSplit(text, absl::MaxSplits(' ', 1));
  if (parts.size() != 2 || !ParsePlace(parts[0], &expected.line, &expected.col)) {
    return absl::InvalidArgumentError("error LINE:COL MESSAGE");
  }
  expected.message = absl::StrReplaceAll(parts[1], {{"\\n", "\n"}});
  return expected;
}

absl::StatusOr<ExpectedReport> ParseReport(absl::string_view text) {
  ExpectedReport report;
  if (absl::ConsumePrefix(&text, "note ")) report.note = true;
  std::vector<absl::string_view> parts = absl::StrSplit(text, absl::MaxSplits(' ', 2));
  if (parts.size() != 3 || !ParsePlace(parts[1], &report.line, &report.col)) {
    return absl::InvalidArgumentError("report [note] KIND LINE:COL MESSAGE");
  }
  report.kind = std::string(parts[0]);
  report.message = std::string(parts[2]);
  return report;
}

absl::Status ParseGrid(absl::string_view text, int64_t grid[3]) {
  std::vector<absl::string_view> extents = absl::StrSplit(text, ',');
  if (extents.size() > 3) return absl::InvalidArgumentError("grid X[,Y[,Z]]");
  for (size_t i = 0; i < extents.size(); ++i) {
    if (!absl::SimpleAtoi(extents[i], &grid[i])) return absl::InvalidArgumentError("grid X[,Y[,Z]]");
  }
  return absl::OkStatus();
}

absl::Status ParseDirective(absl::string_view word, absl::string_view rest, int line, Case& result) {
  if (word == "in" || word == "out" || word == "inout") {
    BufferSpec::Role role = word == "in" ? BufferSpec::Role::kIn : word == "out" ? BufferSpec::Role::kOut : BufferSpec::Role::kInOut;
    TILEVM_ASSIGN_OR_RETURN(BufferSpec spec, ParseBuffer(role, rest));
    spec.line = line;
    result.buffers.push_back(std::move(spec));
  } else if (word == "arg") {
    TILEVM_ASSIGN_OR_RETURN(ArgSpecText arg, ParseArg(rest));
    arg.line = line;
    result.args.push_back(std::move(arg));
  } else if (word == "grid") {
    return ParseGrid(rest, result.grid);
  } else if (word == "error") {
    TILEVM_ASSIGN_OR_RETURN(Expectation expected, ParseError(rest));
    result.errors.push_back(std::move(expected));
  } else if (word == "report") {
    TILEVM_ASSIGN_OR_RETURN(ExpectedReport report, ParseReport(rest));
    result.reports.push_back(std::move(report));
  } else if (word == "print") {
    result.prints.emplace_back(rest);
    result.check_prints = true;
  } else if (word == "pending") {
    result.pending = std::string(rest);
    if (rest.empty()) return absl::InvalidArgumentError("pending needs its reason");
  } else if (word == "poison") {
    result.poison_masked = true;
  } else if (word == "fuel") {
    if (!absl::SimpleAtoi(rest, &result.fuel)) return absl::InvalidArgumentError("fuel COUNT");
  } else {
    return absl::InvalidArgumentError(absl::StrCat("unknown directive '", word, "'"));
  }
  return absl::OkStatus();
}

// --- one case ----------------------------------------------------------------------------------------------------------------------------

absl::StatusOr<Case> ParseOne(absl::string_view path, const std::vector<Line>& lines) {
  Case result;
  result.file = std::string(path);
  result.first_line = lines.empty() ? 0 : lines[0].number;
  enum class Mode { kDirectives, kAssembly, kTriton } mode = Mode::kDirectives;
  std::vector<std::string> source;
  for (size_t i = 0; i < lines.size(); ++i) {
    const std::string& text = lines[i].text;
    bool indented = text.empty() || text[0] == ' ';
    if (mode == Mode::kTriton && indented) {
      source.push_back(text.size() > 4 ? text.substr(4) : "");
      continue;
    }
    if (mode == Mode::kAssembly && (indented || text[0] == '#' || IsSourceStart(FirstWord(text)))) {
      source.push_back(text);
      continue;
    }
    if (text.empty() || text[0] == '#') continue;
    absl::string_view word = FirstWord(text);
    if (word == "triton" || IsSourceStart(word)) {
      if (!source.empty()) return Bad(path, lines[i].number, "a second kernel in one case");
      mode = word == "triton" ? Mode::kTriton : Mode::kAssembly;
      result.triton = mode == Mode::kTriton;
      if (mode == Mode::kAssembly) source.push_back(text);
      continue;
    }
    mode = Mode::kDirectives;
    std::string whole = text;
    while (i + 1 < lines.size() && absl::StartsWith(lines[i + 1].text, " ")) absl::StrAppend(&whole, lines[++i].text);
    absl::string_view rest = absl::StripAsciiWhitespace(absl::string_view(whole).substr(word.size()));
    absl::Status status = ParseDirective(word, rest, lines[i].number, result);
    if (!status.ok()) return Bad(path, lines[i].number, status.message());
  }
  while (!source.empty() && (source.back().empty() || source.back()[0] == '#')) source.pop_back();
  if (source.empty()) return Bad(path, result.first_line, "a case without a kernel");
  result.prelude_lines = result.triton ? 1 : 0;
  result.source = absl::StrCat(result.triton ? kTritonPrelude : "", absl::StrJoin(source, "\n"), "\n");
  return result;
}

struct Section {
  std::string name;
  std::vector<Sweep> sweeps;
  std::vector<Line> lines;
};

absl::StatusOr<std::vector<Section>> SplitSections(absl::string_view path, absl::string_view text) {
  std::vector<Section> sections(1);
  int number = 0;
  for (absl::string_view raw : absl::StrSplit(text, '\n')) {
    Line line{++number, std::string(absl::StripTrailingAsciiWhitespace(raw))};
    if (absl::StartsWith(line.text, "case ")) {
      bool only_comments = true;
      for (const Line& earlier : sections.back().lines) only_comments &= earlier.text.empty() || earlier.text[0] == '#';
      if (sections.size() == 1 && sections[0].name.empty() && only_comments) sections.pop_back();
      sections.emplace_back();
      sections.back().name = std::string(absl::StripAsciiWhitespace(absl::string_view(line.text).substr(5)));
    } else if (absl::StartsWith(line.text, "for ")) {
      TILEVM_ASSIGN_OR_RETURN(Sweep sweep, ParseSweep(path, line));
      sections.back().sweeps.push_back(std::move(sweep));
    } else {
      sections.back().lines.push_back(std::move(line));
    }
  }
  return sections;
}

// What a name of a test may hold.
std::string PlainName(absl::string_view text) {
  std::string name;
  for (char c : text) {
    if (absl::ascii_isalnum(c) || c == '.' || c == '+' || c == '-' || c == '_') name += c;
  }
  return name;
}

std::string Stem(absl::string_view path) {
  size_t slash = path.rfind('/');
  if (slash != absl::string_view::npos) path = path.substr(slash + 1);
  return std::string(path.substr(0, path.rfind('.')));
}

}  // namespace

absl::StatusOr<std::vector<Case>> ParseCases(absl::string_view path, absl::string_view text) {
  TILEVM_ASSIGN_OR_RETURN(std::vector<Section> sections, SplitSections(path, text));
  std::vector<Case> cases;
  for (const Section& section : sections) {
    for (const Binding& binding : Combine(section.sweeps)) {
      std::vector<Line> lines;
      for (const Line& line : section.lines) lines.push_back({line.number, Substitute(line.text, binding)});
      TILEVM_ASSIGN_OR_RETURN(Case one, ParseOne(path, lines));
      one.name = Stem(path);
      if (!section.name.empty()) absl::StrAppend(&one.name, "/", section.name);
      std::vector<std::string> values;
      for (const auto& entry : binding) values.push_back(PlainName(entry.second));
      if (!values.empty()) absl::StrAppend(&one.name, "/", absl::StrJoin(values, "_"));
      cases.push_back(std::move(one));
    }
  }
  return cases;
}

}  // namespace tilevm::tests
