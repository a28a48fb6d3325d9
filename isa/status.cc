// Locs travel in a status payload as text, one "kind file line col message" record a line; FormatDiagnostic prints them with the source line.
#include "isa/status.h"

#include <algorithm>
#include <optional>

#include "absl/strings/numbers.h"
#include "absl/strings/str_split.h"

namespace tilevm {
namespace {

constexpr char kPayloadUrl[] = "tilevm/loc";

std::string PayloadOf(const absl::Status& status) {
  std::optional<absl::Cord> payload;
  if (auto found = status.GetPayload(kPayloadUrl); found.has_value()) return std::string(*found);
  return "";
}

void Append(absl::Status& status, absl::string_view kind, Loc loc, absl::string_view note) {
  std::string payload = PayloadOf(status);
  absl::StrAppend(&payload, kind, "\t", loc.file, "\t", loc.line, "\t", loc.col, "\t", note, "\n");
  status.SetPayload(kPayloadUrl, absl::Cord(payload));
}

struct Record {
  std::string kind;
  Loc loc;
  std::string note;
};

std::vector<Record> RecordsOf(const absl::Status& status) {
  std::vector<Record> records;
  for (absl::string_view line : absl::StrSplit(PayloadOf(status), '\n', absl::SkipEmpty())) {
    std::vector<absl::string_view> parts = absl::StrSplit(line, absl::MaxSplits('\t', 4));
    if (parts.size() != 5) continue;
    Record record;
    record.kind = std::string(parts[0]);
    if (!absl::SimpleAtoi(parts[1], &record.loc.file) || !absl::SimpleAtoi(parts[2], &record.loc.line) ||
        !absl::SimpleAtoi(parts[3], &record.loc.col)) {
      continue;
    }
    record.note = std::string(parts[4]);
    records.push_back(std::move(record));
  }
  return records;
}

std::string PlaceText(Loc loc, const std::vector<SourceFile>& files) {
  absl::string_view name = "<input>";
  if (loc.file >= 0 && loc.file < static_cast<int32_t>(files.size())) name = files[loc.file].name;
  return absl::StrCat(name, ":", loc.line, ":", loc.col, ": ");
}

constexpr size_t kMaxColumns = 160;  // of an echoed source line

bool StartsCharacter(char byte) { return (static_cast<unsigned char>(byte) & 0xc0) != 0x80; }

// The source line with a caret under loc.col; empty if the text is not there. Tabs are kept in the caret line so that both lines align. Of a long
// line only what stands around the caret is shown.
std::string Excerpt(Loc loc, const std::vector<SourceFile>& files) {
  if (loc.file < 0 || loc.file >= static_cast<int32_t>(files.size())) return "";
  absl::string_view text = files[loc.file].text;
  for (int32_t line = 1; line < loc.line; ++line) {
    size_t newline = text.find('\n');
    if (newline == absl::string_view::npos) return "";
    text.remove_prefix(newline + 1);
  }
  text = text.substr(0, text.find('\n'));
  if (!text.empty() && text.back() == '\r') text.remove_suffix(1);
  if (text.empty()) return "";
  size_t at = std::min(loc.col > 0 ? static_cast<size_t>(loc.col) - 1 : 0, text.size());
  absl::string_view before, after;
  if (text.size() > kMaxColumns) {
    size_t begin = at > kMaxColumns / 2 ? at - kMaxColumns / 2 : 0;
    size_t end = std::min(text.size(), begin + kMaxColumns);
    begin = std::min(begin, end > kMaxColumns ? end - kMaxColumns : 0);
    while (begin > 0 && begin < text.size() && !StartsCharacter(text[begin])) --begin;
    while (end < text.size() && !StartsCharacter(text[end])) ++end;
    if (begin > 0) before = "...";
    if (end < text.size()) after = "...";
    text = text.substr(begin, end - begin);
    at = at - begin;
  }
  std::string caret(before.size(), ' ');
  for (size_t i = 0; i < at; ++i) caret += text[i] == '\t' ? '\t' : ' ';
  return absl::StrCat(before, text, after, "\n", caret, "^\n");
}

}  // namespace

absl::Status MakeErrorAt(Loc loc, absl::StatusCode code, absl::string_view message) {
  absl::Status status(code, message);
  if (loc.known()) Append(status, "at", loc, "");
  return status;
}

absl::Status WithLoc(absl::Status status, Loc loc) {
  if (status.ok() || !loc.known() || LocOf(status).known()) return status;
  Append(status, "at", loc, "");
  return status;
}

absl::Status WithCallSite(absl::Status status, Loc loc) {
  if (!status.ok() && loc.known()) Append(status, "call", loc, "");
  return status;
}

absl::Status WithNote(absl::Status status, Loc loc, absl::string_view note) {
  if (!status.ok()) Append(status, "note", loc, note);
  return status;
}

Loc LocOf(const absl::Status& status) {
  for (const Record& record : RecordsOf(status)) {
    if (record.kind == "at") return record.loc;
  }
  return Loc{};
}

std::string FormatDiagnostic(const absl::Status& status, const std::vector<SourceFile>& files) {
  if (status.ok()) return "";
  std::string out;
  Loc loc = LocOf(status);
  if (loc.known()) absl::StrAppend(&out, PlaceText(loc, files));
  absl::StrAppend(&out, "error: ", status.message(), "\n");
  if (loc.known()) absl::StrAppend(&out, Excerpt(loc, files));
  for (const Record& record : RecordsOf(status)) {
    if (record.kind == "at") continue;
    absl::string_view note = record.kind == "call" ? absl::string_view("called from here") : absl::string_view(record.note);
    if (record.loc.known()) absl::StrAppend(&out, PlaceText(record.loc, files));
    absl::StrAppend(&out, "note: ", note, "\n");
    if (record.loc.known()) absl::StrAppend(&out, Excerpt(record.loc, files));
  }
  return out;
}

}  // namespace tilevm
