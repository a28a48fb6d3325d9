// The parts of Python's library that kernel files lean on when they run: time, os, os.path, sys, argparse, pathlib; and what pytest, inspect and the
// profiler of Triton have to say to a program that only mentions them. A program sees no command line of its own
// and an empty environment: what a file does depends on it and its arguments alone. sys.exit is the evaluator's.
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <limits>
#include <thread>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "vm/host/object.h"
#include "vm/host/path_call.h"

namespace tilevm::vm::host {
namespace {

using specializer::ValueKind;

// ---- time ----

int64_t Nanoseconds(bool wall) {
  const auto since = wall ? std::chrono::system_clock::now().time_since_epoch() : std::chrono::steady_clock::now().time_since_epoch();
  return std::chrono::duration_cast<std::chrono::nanoseconds>(since).count();
}
template <bool kWall>
absl::StatusOr<Value> Seconds(const PathCall&) { return Value::Float(static_cast<double>(Nanoseconds(kWall)) * 1e-9); }
template <bool kWall>
absl::StatusOr<Value> WholeNanoseconds(const PathCall&) { return Value::Int(Nanoseconds(kWall)); }

// Of all threads of this process.
absl::StatusOr<Value> ProcessorSeconds(const PathCall&) {
  timespec used{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used);
  return Value::Float(static_cast<double>(used.tv_sec) + static_cast<double>(used.tv_nsec) * 1e-9);
}

absl::StatusOr<Value> Sleep(const PathCall& call) {
  const Value seconds = call.Arg(0, "seconds");
  if (!seconds.is_static_number()) return InvalidAt(call.loc, "TypeError: time.sleep: a number is wanted, not ", specializer::TypeName(seconds, nullptr));
  const double s = seconds.is(ValueKind::kFloat) ? seconds.float_value() : static_cast<double>(seconds.int_value());
  if (!(s >= 0)) return InvalidAt(call.loc, "ValueError: sleep length must be non-negative");
  std::this_thread::sleep_for(std::chrono::duration<double>(std::min(s, 3600.0)));
  return Value::None();
}

// ---- os.path ----

absl::StatusOr<std::string> Path(const PathCall& call, size_t i) {
  const Value path = call.Arg(i, "path");
  if (path.is(ValueKind::kString)) return path.string();
  return InvalidAt(call.loc, "TypeError: ", call.path, ": a str is wanted, not ", path.absent() ? "nothing" : specializer::TypeName(path, nullptr));
}

absl::StatusOr<Value> Join(const PathCall& call) {
  TILEVM_ASSIGN_OR_RETURN(std::string joined, Path(call, 0));
  for (size_t i = 1; i < call.args.positional.size(); ++i) {
    TILEVM_ASSIGN_OR_RETURN(std::string part, Path(call, i));
    if (absl::StartsWith(part, "/")) {
      joined = part;
    } else {
      absl::StrAppend(&joined, joined.empty() || joined.back() == '/' ? "" : "/", part);
    }
  }
  return Value::String(std::move(joined));
}

std::pair<std::string, std::string> SplitPath(const std::string& path) {
  const size_t slash = path.rfind('/');
  if (slash == std::string::npos) return {"", path};
  std::string head = path.substr(0, slash + 1);
  if (head.find_first_not_of('/') != std::string::npos) {
    while (head.back() == '/') head.pop_back();
  }
  return {head, path.substr(slash + 1)};
}
template <int kPart>
absl::StatusOr<Value> PartOf(const PathCall& call) {
  TILEVM_ASSIGN_OR_RETURN(std::string path, Path(call, 0));
  auto [head, tail] = SplitPath(path);
  if constexpr (kPart == 0) return Value::String(std::move(head));
  if constexpr (kPart == 1) return Value::String(std::move(tail));
  return Value::Tuple({Value::String(std::move(head)), Value::String(std::move(tail))});
}
absl::StatusOr<Value> SplitExtension(const PathCall& call) {
  TILEVM_ASSIGN_OR_RETURN(std::string path, Path(call, 0));
  const size_t slash = path.rfind('/'), first = slash == std::string::npos ? 0 : slash + 1;
  size_t dot = path.rfind('.');
  if (dot == std::string::npos || dot < first || path.find_first_not_of('.', first) > dot) dot = path.size();
  return Value::Tuple({Value::String(path.substr(0, dot)), Value::String(path.substr(dot))});
}

enum class Kind { kAny, kFile, kFolder };
template <Kind kKind>
absl::StatusOr<Value> Exists(const PathCall& call) {
  TILEVM_ASSIGN_OR_RETURN(std::string path, Path(call, 0));
  struct stat info;
  if (stat(path.c_str(), &info) != 0) return Value::Bool(false);
  return Value::Bool(kKind == Kind::kAny || (kKind == Kind::kFile ? S_ISREG(info.st_mode) : S_ISDIR(info.st_mode)));
}

std::string CurrentFolder() {
  char buffer[4096];
  return getcwd(buffer, sizeof(buffer)) == nullptr ? "." : buffer;
}
absl::StatusOr<Value> Here(const PathCall&) { return Value::String(CurrentFolder()); }

absl::StatusOr<Value> Absolute(const PathCall& call) {
  TILEVM_ASSIGN_OR_RETURN(std::string path, Path(call, 0));
  if (!absl::StartsWith(path, "/")) path = absl::StrCat(CurrentFolder(), "/", path);
  std::vector<std::string> parts;
  for (size_t at = 0; at < path.size();) {
    const size_t end = std::min(path.find('/', at), path.size());
    const std::string part = path.substr(at, end - at);
    if (part == "..") {
      if (!parts.empty()) parts.pop_back();
    } else if (!part.empty() && part != ".") {
      parts.push_back(part);
    }
    at = end + 1;
  }
  std::string out;
  for (const std::string& part : parts) absl::StrAppend(&out, "/", part);
  return Value::String(out.empty() ? "/" : out);
}

absl::StatusOr<Value> CpuCount(const PathCall&) { return Value::Int(static_cast<int64_t>(std::max(1u, std::thread::hardware_concurrency()))); }

// ---- argparse ----

// Options with their defaults, and the strings that parse_args is given: a program's own command line is empty.
class ArgumentParser : public specializer::HostObject {
 public:
  std::string type_name() const override { return "argparse.ArgumentParser"; }

  absl::StatusOr<Value> CallMethod(Evaluator& evaluator, absl::string_view name, const CallArgs& args, Loc loc) override {
    const PathCall call{evaluator, name, args, loc};
    if (name == "add_argument") return AddArgument(call);
    if (name == "parse_args") return Parse(call);
    if (name == "parse_known_args") {
      TILEVM_ASSIGN_OR_RETURN(Value parsed, Parse(call));
      return Value::Tuple({parsed, Value::List({})});
    }
    if (name == "add_argument_group" || name == "add_mutually_exclusive_group")
      return Value::Shared(ValueKind::kObject, group_ ? group_ : group_ = std::make_shared<Group>(this));
    if (name == "set_defaults") {
      for (const auto& [key, value] : args.keyword) defaults_.emplace_back(key, value);
      return Value::None();
    }
    return UnimplementedAt(loc, "argparse.ArgumentParser.", name, " is not supported");
  }

 private:
  struct Group : specializer::HostObject {
    explicit Group(ArgumentParser* owner) : parser(owner) {}
    ArgumentParser* parser;  // holds this
    std::string type_name() const override { return "argparse._ArgumentGroup"; }
    absl::StatusOr<Value> CallMethod(Evaluator& evaluator, absl::string_view name, const CallArgs& args, Loc loc) override {
      return parser->CallMethod(evaluator, name, args, loc);
    }
  };
  struct Option {
    std::vector<std::string> flags;  // empty: by position
    std::string dest, action = "store";
    Value type, fallback = Value::None(), constant, choices;
    bool required = false, several = false;
    Loc loc;
  };

  absl::StatusOr<Value> AddArgument(const PathCall& call) {
    Option option;
    option.loc = call.loc;
    for (const Value& flag : call.args.positional) {
      if (!flag.is(ValueKind::kString)) return InvalidAt(call.loc, "add_argument: a name is wanted, not ", specializer::TypeName(flag, nullptr));
      const std::string& text = flag.string();
      absl::string_view bare = text;
      while (absl::ConsumePrefix(&bare, "-")) {
      }
      if (absl::StartsWith(text, "-")) option.flags.push_back(text);
      if (option.dest.empty() || absl::StartsWith(text, "--")) option.dest = std::string(bare);
    }
    for (char& c : option.dest) c = c == '-' ? '_' : c;
    for (const auto& [name, value] : call.args.keyword) {
      if (name == "type") option.type = value;
      if (name == "default") option.fallback = value;
      if (name == "const") option.constant = value;
      if (name == "choices") option.choices = value;
      if (name == "dest" && value.is(ValueKind::kString)) option.dest = value.string();
      if (name == "required") option.required = value.is(ValueKind::kBool) && value.bool_value();
      if (name == "nargs") {
        option.several = value.is(ValueKind::kInt) || (value.is(ValueKind::kString) && value.string() != "?");
        if (value.is(ValueKind::kString) && value.string() == "?") option.required = false;
      }
      if (name == "action") {
        if (!value.is(ValueKind::kString)) return UnimplementedAt(call.loc, "add_argument: an action that is a class is not supported");
        option.action = value.string();
        if (option.action != "store" && option.action != "store_true" && option.action != "store_false" && option.action != "store_const") {
          return UnimplementedAt(call.loc, "add_argument: action='", option.action, "' is not supported");
        }
      }
    }
    if (option.action == "store_true" && option.fallback.absent_or_none()) option.fallback = Value::Bool(false);
    if (option.action == "store_false" && option.fallback.absent_or_none()) option.fallback = Value::Bool(true);
    const Value nargs = call.Arg(call.args.positional.size(), "nargs");
    if (option.flags.empty()) option.required = !(nargs.is(ValueKind::kString) && (nargs.string() == "?" || nargs.string() == "*"));
    options_.push_back(std::move(option));
    return Value::None();
  }

  absl::StatusOr<Value> Converted(Evaluator& evaluator, const Option& option, const std::string& text, Loc loc) const {
    Value value = Value::String(text);
    if (!option.type.absent_or_none()) {
      TILEVM_ASSIGN_OR_RETURN(value, evaluator.Call(option.type, CallArgs{{value}, {}}, loc));
    }
    if (!option.choices.absent_or_none()) {
      TILEVM_ASSIGN_OR_RETURN(std::vector<Value> choices, evaluator.Iterate(option.choices, loc));
      bool found = false;
      for (const Value& choice : choices) found |= specializer::StaticEqual(choice, value);
      if (!found) return InvalidAt(loc, "argument ", option.dest, ": invalid choice: ", specializer::Repr(value));
    }
    return value;
  }

  absl::StatusOr<Value> Parse(const PathCall& call) {
    std::vector<std::string> words;
    if (const Value given = call.Arg(0, "args"); !given.absent_or_none()) {
      TILEVM_ASSIGN_OR_RETURN(std::vector<Value> items, call.evaluator.Iterate(given, call.loc));
      for (const Value& item : items) words.push_back(specializer::Str(item));
    }
    Record::Attributes attributes;
    std::vector<bool> seen(options_.size());
    for (const Option& option : options_) attributes.emplace_back(option.dest, option.fallback);
    for (const auto& [name, value] : defaults_) {
      for (auto& [key, current] : attributes) {
        if (key == name) current = value;
      }
    }
    for (size_t w = 0; w < words.size();) {
      std::string word = words[w++];
      std::optional<std::string> attached;
      if (const size_t equals = word.find('='); absl::StartsWith(word, "--") && equals != std::string::npos) {
        attached = word.substr(equals + 1);
        word = word.substr(0, equals);
      }
      size_t at = options_.size();
      for (size_t i = 0; i < options_.size(); ++i) {
        const Option& option = options_[i];
        const bool by_name = std::find(option.flags.begin(), option.flags.end(), word) != option.flags.end();
        if (by_name || (option.flags.empty() && !seen[i] && !absl::StartsWith(word, "-"))) {
          at = i;
          break;
        }
      }
      if (at == options_.size()) return InvalidAt(call.loc, "unrecognized arguments: ", word);
      const Option& option = options_[at];
      seen[at] = true;
      Value& value = attributes[at].second;
      if (option.action == "store_true" || option.action == "store_false") {
        value = Value::Bool(option.action == "store_true");
      } else if (option.action == "store_const") {
        value = option.constant;
      } else {
        std::vector<std::string> texts;
        if (option.flags.empty()) texts.push_back(word);
        if (attached.has_value()) texts.push_back(*attached);
        while (w < words.size() && !absl::StartsWith(words[w], "--") && (option.several || texts.empty())) texts.push_back(words[w++]);
        if (texts.empty()) return InvalidAt(call.loc, "argument ", word, ": expected one argument");
        std::vector<Value> values;
        for (const std::string& text : texts) {
          TILEVM_ASSIGN_OR_RETURN(Value one, Converted(call.evaluator, option, text, call.loc));
          values.push_back(std::move(one));
        }
        value = option.several ? Value::List(std::move(values)) : values[0];
      }
    }
    for (size_t i = 0; i < options_.size(); ++i) {
      if (options_[i].required && !seen[i]) {
        return WithNote(InvalidAt(call.loc, "the following arguments are required: ", options_[i].dest,
                                  "; a program here has no command line of its own, call its functions with "
                                  "`tilevm run FILE FUNCTION name=value`"),
                        options_[i].loc, "added here");
      }
    }
    std::string repr = "Namespace(";
    for (size_t i = 0; i < attributes.size(); ++i) absl::StrAppend(&repr, i ? ", " : "", attributes[i].first, "=", specializer::Repr(attributes[i].second));
    return Record::Make("argparse.Namespace", repr + ")", std::move(attributes));
  }

  std::vector<Option> options_;
  std::vector<std::pair<std::string, Value>> defaults_;
  std::shared_ptr<Group> group_;
};

// ---- pathlib ----

// A path as text, joined by `/`.
class PathObject : public specializer::HostObject {
 public:
  explicit PathObject(std::string text) : text_(std::move(text)) {}
  static Value Make(std::string text) { return Value::Shared(ValueKind::kObject, std::make_shared<PathObject>(std::move(text))); }
  std::string type_name() const override { return "pathlib.Path"; }
  std::string Repr() const override { return text_; }

  absl::StatusOr<Value> GetAttr(Evaluator& evaluator, absl::string_view name, Loc loc) override {
    const auto [head, tail] = SplitPath(text_);
    if (name == "parent") return Make(head.empty() ? "." : head);
    if (name == "name") return Value::String(tail);
    const size_t dot = tail.rfind('.');
    const bool has_suffix = dot != std::string::npos && dot > 0;
    if (name == "stem") return Value::String(has_suffix ? tail.substr(0, dot) : tail);
    if (name == "suffix") return Value::String(has_suffix ? tail.substr(dot) : "");
    return HostObject::GetAttr(evaluator, name, loc);
  }
  absl::StatusOr<Value> CallMethod(Evaluator& evaluator, absl::string_view name, const CallArgs&, Loc loc) override {
    const CallArgs own{{Value::String(text_)}, {}};
    const PathCall call{evaluator, name, own, loc};
    if (name == "exists") return Exists<Kind::kAny>(call);
    if (name == "is_file") return Exists<Kind::kFile>(call);
    if (name == "is_dir") return Exists<Kind::kFolder>(call);
    if (name == "resolve" || name == "absolute") {
      TILEVM_ASSIGN_OR_RETURN(Value path, Absolute(call));
      return Make(path.string());
    }
    if (name == "__str__" || name == "__fspath__" || name == "as_posix") return Value::String(text_);
    return UnimplementedAt(loc, "pathlib.Path.", name, " is not supported");
  }
  absl::StatusOr<Value> Binary(Evaluator& evaluator, isa::Op op, const Value& other, bool reflected, Loc loc) override {
    const std::string right = other.is(ValueKind::kString) ? other.string() : other.is(ValueKind::kObject) ? other.As<HostObject>()->Repr() : "";
    if (op == isa::Op::kTrueDiv && !right.empty() && !reflected)
      return Make(absl::StartsWith(right, "/") ? right : absl::StrCat(text_, text_.back() == '/' ? "" : "/", right));
    if (op == isa::Op::kEq || op == isa::Op::kNe) return Value::Bool((right == text_) == (op == isa::Op::kEq));
    return HostObject::Binary(evaluator, op, other, reflected, loc);
  }
  absl::StatusOr<bool> Truth(Evaluator&, Loc) override { return true; }

 private:
  std::string text_;
};
absl::StatusOr<Value> MakePath(const PathCall& call) {
  const Value given = call.Arg(0, "path");
  if (given.is(ValueKind::kString)) return PathObject::Make(given.string().empty() ? "." : given.string());
  if (given.is(ValueKind::kObject) && given.As<specializer::HostObject>()->type_name() == "pathlib.Path") return given;
  return given.absent() ? absl::StatusOr<Value>(PathObject::Make("."))
                        : InvalidAt(call.loc, "TypeError: pathlib.Path: a str is wanted, not ", specializer::TypeName(given, nullptr));
}

// ---- inspect, pytest, the profiler: names that files mention when they run as programs ----

absl::StatusOr<Value> CurrentFrame(const PathCall&) { return Record::Make("frame", "<frame>", {}); }
absl::StatusOr<Value> SourceFileName(const PathCall& call) {
  const std::vector<SourceFile>& files = call.evaluator.module().files;
  return Value::String(files.empty() ? "" : files[0].name);
}
// A decorator that changes nothing, with or without arguments.
absl::StatusOr<Value> Decorate(const PathCall& call) {
  const bool applied = call.args.positional.size() == 1 && call.args.keyword.empty() && call.args.positional[0].is(ValueKind::kFunction);
  return applied ? call.args.positional[0] : Record::Make("context", "<context>", {});
}
absl::StatusOr<Value> NoProfile(const PathCall&) { return Value::None(); }
absl::StatusOr<Value> ProfileScope(const PathCall&) { return Record::Make("context", "<context>", {}); }
absl::StatusOr<Value> NoProfileTree(const PathCall&) { return Value::Tuple({Value::None(), Value::List({})}); }

absl::StatusOr<Value> MakeParser(const PathCall&) { return Value::Shared(ValueKind::kObject, std::make_shared<ArgumentParser>()); }

// logging: what a program logs is not shown, like its warnings.
class Logger : public specializer::HostObject {
 public:
  std::string type_name() const override { return "logging.Logger"; }
  absl::StatusOr<Value> GetAttr(Evaluator& evaluator, absl::string_view name, Loc loc) override {
    if (name == "level") return Value::Int(30);
    if (name == "handlers") return Value::List({});
    return HostObject::GetAttr(evaluator, name, loc);
  }
  absl::Status SetAttr(Evaluator&, absl::string_view, const Value&, Loc) override { return absl::OkStatus(); }
  absl::StatusOr<Value> CallMethod(Evaluator& evaluator, absl::string_view name, const CallArgs& args, Loc loc) override {
    if (name == "isEnabledFor" || name == "hasHandlers") return Value::Bool(false);
    if (name == "getEffectiveLevel") return Value::Int(30);
    for (absl::string_view silent :
         {"debug", "info", "warning", "warning_once", "error", "critical", "exception", "log", "setLevel", "addHandler", "removeHandler", "addFilter"}) {
      if (name == silent) return Value::None();
    }
    return HostObject::CallMethod(evaluator, name, args, loc);
  }
};
absl::StatusOr<Value> MakeLogger(const PathCall&) { return Value::Shared(ValueKind::kObject, std::make_shared<Logger>()); }
absl::StatusOr<Value> LogNothing(const PathCall&) { return Value::None(); }

constexpr PathRow kRows[] = {
    {"time.time", Seconds<true>},
    {"time.perf_counter", Seconds<false>},
    {"time.monotonic", Seconds<false>},
    {"time.process_time", ProcessorSeconds},
    {"time.time_ns", WholeNanoseconds<true>},
    {"time.perf_counter_ns", WholeNanoseconds<false>},
    {"time.monotonic_ns", WholeNanoseconds<false>},
    {"time.sleep", Sleep},
    {"os.path.join", Join},
    {"os.path.dirname", PartOf<0>},
    {"os.path.basename", PartOf<1>},
    {"os.path.split", PartOf<2>},
    {"os.path.splitext", SplitExtension},
    {"os.path.exists", Exists<Kind::kAny>},
    {"os.path.isfile", Exists<Kind::kFile>},
    {"os.path.isdir", Exists<Kind::kFolder>},
    {"os.path.abspath", Absolute},
    {"os.path.realpath", Absolute},
    {"os.getcwd", Here},
    {"os.cpu_count", CpuCount},
    {"argparse.ArgumentParser", MakeParser},
    {"logging.getLogger", MakeLogger},
    {"logging.StreamHandler", MakeLogger},
    {"logging.Formatter", MakeLogger},
    {"logging.basicConfig", LogNothing},
    {"logging.debug", LogNothing},
    {"logging.info", LogNothing},
    {"logging.warning", LogNothing},
    {"logging.error", LogNothing},
    {"pathlib.Path", MakePath},
    {"pathlib.PurePath", MakePath},
    {"inspect.currentframe", CurrentFrame},
    {"inspect.getfile", SourceFileName},
    {"pytest.mark.parametrize", Decorate},
    {"pytest.mark.skipif", Decorate},
    {"pytest.mark.skip", Decorate},
    {"pytest.mark.xfail", Decorate},
    {"pytest.mark.interpreter", Decorate},
    {"pytest.fixture", Decorate},
    {"triton.profiler.start", NoProfile},
    {"triton.profiler.finalize", NoProfile},
    {"triton.profiler.activate", NoProfile},
    {"triton.profiler.deactivate", NoProfile},
    {"triton.profiler.scope", ProfileScope},
    {"triton.profiler.viewer.parse", NoProfileTree},
    {"triton.profiler.viewer.print_tree", NoProfile},
};

}  // namespace

absl::Span<const PathRow> PythonModuleFunctions() { return kRows; }

std::optional<Value> PythonModuleValue(Evaluator& evaluator, absl::string_view path) {
  if (path == "os.sep" || path == "os.path.sep") return Value::String("/");
  if (path == "os.linesep") return Value::String("\n");
  if (path == "os.name") return Value::String("posix");
  if (path == "sys.platform") return Value::String("linux");
  if (path == "sys.maxsize") return Value::Int(std::numeric_limits<int64_t>::max());
  if (path == "sys.version_info") {
    return specializer::MakeNamedTuple("sys.version_info", {"major", "minor", "micro", "releaselevel", "serial"},
                                       {Value::Int(3), Value::Int(11), Value::Int(0), Value::String("final"), Value::Int(0)});
  }
  if (path == "os.pardir" || path == "os.path.pardir") return Value::String("..");
  if (path == "os.curdir") return Value::String(".");
  if (path == "sys.path") return Value::List({});  // imports are found beside the file and in -I folders
  if (path == "sys.argv") {
    const std::vector<SourceFile>& files = evaluator.module().files;
    return Value::List({Value::String(files.empty() ? "" : files[0].name)});
  }
  return std::nullopt;
}

}  // namespace tilevm::vm::host
