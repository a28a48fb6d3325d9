#include "tests/oracle.h"

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <sstream>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "isa/status.h"

namespace tilevm::tests {
namespace {

std::string Bytes(const std::vector<uint8_t>& bytes) {
  return absl::BytesToHexString(absl::string_view(reinterpret_cast<const char*>(bytes.data()), bytes.size()));
}

std::string Record(absl::string_view kind, const BufferSpec& buffer, absl::string_view rest) {
  return absl::StrCat(kind, "\t", buffer.name, "\t", isa::Name(buffer.dtype), "\t", absl::StrJoin(buffer.shape, ","), "\t", rest, "\n");
}

// The lines of one case, and the answers it waits for, in order.
struct Question {
  size_t case_index;
  Elements* answer;
  int64_t byte_count;
};

std::string Ask(size_t index, Case& one, std::vector<Question>& questions) {
  std::string text = "case\n", expectations;
  bool asks = false;
  for (const ArgSpecText& arg : one.args) absl::StrAppend(&text, "arg\t", arg.name, "\t", arg.value, "\n");
  for (BufferSpec& buffer : one.buffers) {
    if (buffer.role == BufferSpec::Role::kOut) continue;
    if (buffer.before_expr.empty()) {
      absl::StrAppend(&text, Record("values", buffer, Bytes(buffer.before.bytes)));
    } else {
      absl::StrAppend(&text, Record("recipe", buffer, buffer.before_expr));
      questions.push_back({index, &buffer.before, buffer.byte_count()});
      asks = true;
    }
  }
  for (BufferSpec& buffer : one.buffers) {
    if (buffer.after_expr.empty()) continue;
    absl::StrAppend(&text, Record("expect", buffer, buffer.after_expr));
    questions.push_back({index, &buffer.after, buffer.byte_count()});
    asks = true;
  }
  return asks ? text : "";
}

class Reader {
 public:
  explicit Reader(std::string data) : data_(std::move(data)) {}

  bool Take(int64_t* length) {
    if (data_.size() - pos_ < 8) return false;
    std::memcpy(length, data_.data() + pos_, 8);
    pos_ += 8;
    return true;
  }
  bool Take(int64_t length, std::string* bytes) {
    if (length < 0 || static_cast<uint64_t>(length) > data_.size() - pos_) return false;
    *bytes = data_.substr(pos_, length);
    pos_ += length;
    return true;
  }

 private:
  std::string data_;
  size_t pos_ = 0;
};

absl::Status ReadAnswers(std::string data, const std::vector<Question>& questions, std::vector<std::string>& problems) {
  Reader reader(std::move(data));
  for (const Question& question : questions) {
    int64_t length;
    std::string bytes;
    if (!reader.Take(&length)) return absl::InternalError("oracle.py: the answer is short");
    bool failed = length == -1;
    if (failed && !reader.Take(&length)) return absl::InternalError("oracle.py: the answer is short");
    if (!failed && length != question.byte_count) return absl::InternalError("oracle.py: the answer is for something else");
    if (!reader.Take(length, &bytes)) return absl::InternalError("oracle.py: the answer is short");
    if (failed) {
      problems[question.case_index] = absl::StrCat("oracle: ", bytes);
    } else {
      question.answer->bytes.assign(bytes.begin(), bytes.end());
    }
  }
  return absl::OkStatus();
}

std::string ReadFile(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream data;
  data << file.rdbuf();
  return data.str();
}

}  // namespace

absl::Status AskOracle(absl::string_view script, absl::string_view folder, std::vector<Case>& cases, std::vector<std::string>& problems) {
  problems.assign(cases.size(), "");
  std::vector<Question> questions;
  std::string request_path = absl::StrCat(folder, "/oracle.request"), answer_path = absl::StrCat(folder, "/oracle.answer");
  {
    std::ofstream request(request_path, std::ios::binary);
    for (size_t i = 0; i < cases.size(); ++i) request << Ask(i, cases[i], questions);
  }
  if (questions.empty()) return absl::OkStatus();
  std::string command = absl::StrCat("/usr/bin/python3 '", script, "' '", request_path, "' '", answer_path, "'");
  if (std::system(command.c_str()) != 0) return absl::InternalError(absl::StrCat("failed: ", command));
  return ReadAnswers(ReadFile(answer_path), questions, problems);
}

absl::Status ReadOracle(absl::string_view answers, std::vector<Case>& cases, std::vector<std::string>& problems) {
  problems.assign(cases.size(), "");
  std::vector<Question> questions;
  for (size_t i = 0; i < cases.size(); ++i) Ask(i, cases[i], questions);
  return ReadAnswers(ReadFile(std::string(answers)), questions, problems);
}

}  // namespace tilevm::tests
