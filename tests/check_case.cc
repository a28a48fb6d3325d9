#include "tests/check_case.h"

#include <utility>
#include <vector>

#include "absl/base/config.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/strip.h"
#include "frontends/asm/assemble.h"
#include "frontends/triton/compile.h"
#include "isa/module.h"
#include "isa/print.h"
#include "isa/status.h"
#include "isa/tbc.h"
#include "specializer/ir/kernel.h"
#include "specializer/partial_eval/evaluator.h"
#include "specializer/passes/passes.h"
#include "tests/launch.h"
#include "vm/interp/interp.h"

namespace tilevm::tests {
namespace {

constexpr int64_t kFuel = 200'000'000;  // instructions; a case that loops for ever ends

// Static prints go where device prints go.
class PrintingHost : public specializer::Host {
 public:
  void Print(absl::string_view line) override { lines.emplace_back(absl::StripSuffix(line, "\n")); }
  std::vector<std::string> lines;
};

std::string Actual(const absl::Status& status, const Case& one) {
  Loc loc = LocOf(status);
  int line = loc.known() ? loc.line - one.prelude_lines : 0;
  return absl::StrCat("error ", line, ":", loc.known() ? loc.col : 0, " ",
                      absl::StrReplaceAll(status.message(), {{"\n", "\\n"}}));
}

// What an error means for the case: "" if it is the expected one.
std::string CheckError(const absl::Status& status, const Case& one, absl::string_view stage) {
  std::string actual = Actual(status, one);
  if (one.errors.empty()) return absl::StrCat(stage, ": unexpected error\n  actual: ", actual, "\n");
  const Expectation& expected = one.errors[0];
  std::string wanted = absl::StrCat("error ", expected.line, ":", expected.col, " ", absl::StrReplaceAll(expected.message, {{"\n", "\\n"}}));
  if (actual != wanted) return absl::StrCat(stage, ": another error\n  expected: ", wanted, "\n  actual: ", actual, "\n");
  if (status.code() == absl::StatusCode::kInternal) return absl::StrCat(stage, ": the error is kInternal: ", actual, "\n");
  return "";
}

absl::StatusOr<isa::Module> Load(const Case& one) {
  if (!one.triton) return assembly::Assemble(one.source, one.file);
  return triton::CompileTriton(one.source, one.file);
}

// Text and back, bytecode and back.
std::string CheckRoundTrips(const isa::Module& module) {
  std::string text = isa::Print(module);
  absl::StatusOr<isa::Module> again = assembly::Assemble(text, "printed.tasm");
  if (!again.ok()) {
    return absl::StrCat("the printed text does not assemble: ", FormatDiagnostic(again.status(), {{"printed.tasm", text}}), "\n", text);
  }
  if (!isa::SameProgram(module, *again)) return absl::StrCat("the printed text gives another program:\n", text, isa::Print(*again));
  if (isa::Print(*again) != text) return absl::StrCat("the text is not canonical:\n", text);
  if (isa::Identity(module) != isa::Identity(*again)) return absl::StrCat("the printed text has another identity:\n", text);
  absl::StatusOr<isa::Module> read = isa::ReadTbc(isa::WriteTbc(module));
  if (!read.ok()) return absl::StrCat("the bytecode cannot be read: ", read.status().message(), "\n", text);
  if (!isa::SameProgram(module, *read)) return absl::StrCat("the bytecode holds another program:\n", text, isa::Print(*read));
  if (isa::Identity(module) != isa::Identity(*read)) return absl::StrCat("the bytecode has another identity:\n", text);
  return "";
}

// "out-of-bounds": one word of a case file.
std::string KindName(vm::ReportKind kind) { return absl::StrReplaceAll(vm::Name(kind), {{" ", "-"}}); }

std::string CheckReports(const Case& one, const vm::RunResult& result) {
  std::vector<std::string> wanted, found;
  for (const ExpectedReport& report : one.reports) {
    wanted.push_back(absl::StrCat("report ", report.note ? "note " : "", report.kind, " ", report.line, ":", report.col, " ", report.message));
  }
  for (const vm::Report& report : result.reports) {
    int line = report.loc.known() ? report.loc.line - one.prelude_lines : 0;
    found.push_back(absl::StrCat("report ", report.note ? "note " : "", KindName(report.kind), " ", line, ":", report.loc.col, " ",
                                 report.message));
  }
  if (wanted == found) return "";
  return absl::StrCat("reports differ\n  expected:\n", absl::StrJoin(wanted, "\n"), "\n  actual:\n", absl::StrJoin(found, "\n"), "\n");
}

// What checked mode only reports may be fatal in fast mode; a failed assert is an error there.
bool MayRunFast(const Case& one) {
  for (const ExpectedReport& report : one.reports) {
    if (!report.note && report.kind != KindName(vm::ReportKind::kAssert)) return false;
  }
  return true;
}

struct Mode {
  bool checked;
  int threads;
  uint8_t fill;  // what outputs hold before the run: NaN in every float type, and nothing a case expects
};

// One run of one stage; sets *failed_as_expected if it ended in the error that the case wants.
std::string RunOnce(const Case& one, const ir::Kernel& kernel, const Mode& mode, const std::vector<std::string>& static_prints,
                    bool* failed_as_expected) {
  absl::StatusOr<std::vector<vm::Arg>> args = ArgsOf(one, kernel);
  if (!args.ok()) return absl::StrCat("arguments: ", args.status().message(), "\n");
  Memory memory(one, mode.fill);
  std::vector<std::string> prints = static_prints;
  vm::RunOptions options;
  for (int axis = 0; axis < 3; ++axis) options.grid[axis] = one.grid[axis];
  options.checked = mode.checked;
  options.threads = mode.threads;
  options.max_ops = one.fuel > 0 ? one.fuel : kFuel;
  options.poison_masked = one.poison_masked;
  options.print = [&prints](absl::string_view line) { prints.emplace_back(absl::StripSuffix(line, "\n")); };
  std::vector<vm::Buffer> buffers = memory.Buffers();
  absl::StatusOr<vm::RunResult> result = vm::Run(kernel, *args, buffers, options);
  if (!result.ok()) {
    *failed_as_expected = true;
    return CheckError(result.status(), one, "run");
  }
  std::string problem = memory.Differences();
  if (mode.checked) absl::StrAppend(&problem, CheckReports(one, *result));
  if (one.check_prints && mode.threads == 1 && prints != one.prints) {
    absl::StrAppend(&problem, "prints differ\n  actual:\n", absl::StrJoin(prints, "\n"), "\n");
  }
  return problem;
}

// Under a sanitizer it is the engine that is looked at: a kernel is run as it is in the end, not after each pass, which the other run of the cases does.
#ifdef ABSL_HAVE_ADDRESS_SANITIZER
constexpr bool kAfterEachPass = false;
#else
constexpr bool kAfterEachPass = true;
#endif

// Runs one stage of the IR; `all_modes` for the last one.
std::string CheckStage(const Case& one, absl::string_view stage, const ir::Kernel& kernel, const std::vector<std::string>& static_prints,
                       bool all_modes, bool* failed_as_expected) {
  std::vector<Mode> modes = {{true, 1, 0xff}};
  if (all_modes && MayRunFast(one)) {
    modes.push_back({false, 1, 0xff});
    modes.push_back({false, 2, 0xfd});
  }
  for (const Mode& mode : modes) {
    bool want_error = !one.errors.empty() && (mode.checked ? one.errors[0].in_checked : one.errors[0].in_fast);
    bool failed = false;
    std::string problem = RunOnce(one, kernel, mode, static_prints, &failed);
    if (problem.empty() && want_error && !failed) problem = "no error\n";
    *failed_as_expected |= failed;
    if (!problem.empty()) {
      return absl::StrCat("after ", stage, ", ", mode.checked ? "checked" : "fast", " mode, ", mode.threads, " thread(s):\n", problem, "\n",
                          ir::Print(kernel));
    }
  }
  return "";
}

std::string CheckKernel(const Case& one, const isa::Module& module) {
  PrintingHost host;
  specializer::Evaluator evaluator(&module, &host);
  absl::StatusOr<specializer::Value> function = evaluator.Global("kernel");
  if (!function.ok()) return CheckError(function.status(), one, "kernel");
  absl::StatusOr<const isa::Function*> info = evaluator.KernelFunction(*function);
  if (!info.ok()) return CheckError(info.status(), one, "kernel");
  absl::StatusOr<specializer::SpecializationKey> key = KeyOf(one, **info);
  if (!key.ok()) return absl::StrCat("key: ", key.status().message(), "\n");
  absl::StatusOr<ir::Kernel> kernel = evaluator.Specialize(*function, *key);
  if (!kernel.ok()) return CheckError(kernel.status(), one, "specialize");
  std::string problem, text_before;
  bool failed_as_expected = false;
  specializer::PassOptions passes;
  absl::string_view last_pass = specializer::Passes().back().name;
  passes.observer = [&](absl::string_view stage, const ir::Kernel& after) {
    if (!kAfterEachPass && stage != last_pass) return absl::OkStatus();
    std::string text = ir::Print(after);
    if (!problem.empty() || (text == text_before && stage != last_pass)) return absl::OkStatus();
    problem = CheckStage(one, stage, after, host.lines, stage == last_pass, &failed_as_expected);
    text_before = std::move(text);
    return absl::OkStatus();
  };
  absl::Status status = specializer::RunPasses(*std::move(kernel), passes).status();
  if (!problem.empty()) return problem;
  if (!status.ok()) return absl::StrCat("passes: ", status.message(), "\n");
  if (!one.errors.empty() && !failed_as_expected) return "no error\n";
  return "";
}

}  // namespace

std::string CheckCase(const Case& one) {
  absl::StatusOr<isa::Module> module = Load(one);
  if (!module.ok()) return CheckError(module.status(), one, "load");
  std::string problem = CheckRoundTrips(*module);
  if (!problem.empty()) return problem;
  return CheckKernel(one, *module);
}

}  // namespace tilevm::tests
