// tilevm run: a file as __main__, one of its host functions, or one of its kernels.
#include <chrono>
#include <cstdio>
#include <map>
#include <memory>

#include <CLI/CLI.hpp>

#include "absl/strings/cord.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "isa/tbc.h"
#include "isa/tbc_tuning.h"
#include "vm/cli/cli.h"
#include "vm/cli/gpu.h"
#include "vm/cli/run_report.h"
#include "vm/cli/values.h"
#include "vm/engine.h"
#include "vm/host/launch.h"
#include "vm/file.h"

namespace tilevm::vm::cli {
namespace {

using specializer::CallArgs;
using specializer::Value;
using specializer::ValueKind;

struct RunFlags {
  std::string file;
  std::vector<std::string> rest;      // [FUNCTION] name=value ...
  std::vector<std::string> import_dirs, outputs;
  std::string grid;
  DeviceFlags device;
  bool debug = false, no_tune = false, no_workspace = false, tune = false;  // tune: this is `tilevm tune`
  bool check = false, stats = false, json = false, poison_masked = false, verbose = false;
  uint64_t seed = 0;
  int threads = 0;
  int64_t max_ops = 0;
  std::string max_memory;
};

bool IsAssignment(const std::string& text) {
  const size_t equals = text.find('=');
  return equals != std::string::npos && equals > 0;
}

// "add_kernel(x_ptr, y_ptr, n, BLOCK: constexpr)"
std::string Signature(const KernelInfo& info) {
  std::vector<std::string> params;
  for (const std::string& p : info.params) {
    const bool is_constexpr = std::find(info.constexprs.begin(), info.constexprs.end(), p) != info.constexprs.end();
    params.push_back(is_constexpr ? absl::StrCat(p, ": constexpr") : p);
  }
  return absl::StrCat(info.name, "(", absl::StrJoin(params, ", "), ")");
}

// What one can run in a file that launched nothing by itself.
std::string WhatThereIs(Program& program, const std::string& file) {
  std::string text;
  const std::vector<KernelInfo> kernels = program.Kernels();
  const std::vector<std::string> functions = program.HostFunctions();
  if (kernels.empty() && functions.empty()) return "";
  for (const std::string& f : functions) absl::StrAppend(&text, "\n  host function  ", f, "    tilevm run ", file, " ", f, " x='randn(128, 1000)'");
  for (const KernelInfo& k : kernels)
    absl::StrAppend(&text, "\n  kernel         ", Signature(k), "    tilevm run ", file, " ", k.name, " --grid N name=value ...");
  return text;
}

class Runner {
 public:
  explicit Runner(const RunFlags& flags) : flags_(flags) {}

  int Run() {
    std::vector<std::string> texts;
    std::string function;
    for (const std::string& text : flags_.rest) {
      if (IsAssignment(text)) {
        texts.push_back(text);
      } else if (function.empty() && texts.empty()) {
        function = text;
      } else {
        return Misuse(absl::StrCat("'", text, "' is not of the form name=value"));
      }
    }
    if (absl::Status status = ParseOutputs(); !status.ok()) return Misuse(status.message());

    EngineOptions options;
    options.checked = flags_.check;
    options.poison_masked = flags_.poison_masked;
    options.seed = flags_.seed;
    options.threads = flags_.threads;
    options.max_ops = flags_.max_ops;
    options.limits.max_tensor_bytes = flags_.max_memory.empty() ? 0 : Bytes(flags_.max_memory);
    if (flags_.json) options.print = [this](absl::string_view line) { report_.printed.emplace_back(line); };
    options.warn = [](absl::string_view line) { std::fprintf(stderr, "tilevm: %.*s\n", static_cast<int>(line.size()), line.data()); };
    if (flags_.verbose) options.log = [](absl::string_view line) { std::fprintf(stderr, "%.*s\n", static_cast<int>(line.size()), line.data()); };
    Apply(flags_.device, options);
    options.debug = flags_.debug;
    options.workspace = !flags_.no_workspace;
    options.tuning = flags_.no_tune ? host::Tuning::kNever : flags_.tune ? host::Tuning::kAlways : host::Tuning::kWhenNeeded;
    absl::StatusOr<std::shared_ptr<Engine>> opened = Engine::Open(options);
    if (absl::IsInvalidArgument(opened.status())) return Misuse(absl::StrCat("--device ", flags_.device.device, ": ", opened.status().message()));
    if (!opened.ok())
      return Fail(absl::Status(opened.status().code(),
                               absl::StrCat("--device ", flags_.device.device, ": ", opened.status().message(), "; --device cpu runs the same file")));
    std::shared_ptr<Engine> engine = *std::move(opened);
    if (flags_.tune && engine->device() == nullptr) return Misuse("tune measures on a GPU: --device cpu has nothing to tune");
    LoadOptions load;
    load.import_dirs = flags_.import_dirs;
    const auto start = std::chrono::steady_clock::now();
    std::vector<SourceFile> files;
    absl::StatusOr<std::shared_ptr<Program>> program = engine->LoadFile(flags_.file, load, &files);
    if (!program.ok()) return Finish(program.status(), files);
    program_ = *program;
    report_.file = flags_.file;
    report_.load_us = std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - start).count();

    absl::StatusOr<std::vector<NamedValue>> values = [&] {
      const specializer::MeterScope counted(program_->meter());
      return ParseValues(texts, program_->world().generator());
    }();
    if (!values.ok()) {
      // A file that cannot be read is no misuse.
      const absl::StatusCode code = values.status().code();
      return code == absl::StatusCode::kInvalidArgument ? Misuse(values.status().message()) : Finish(values.status(), {});
    }
    values_ = *std::move(values);
    if (function.empty() && (!values_.empty() || !flags_.grid.empty())) {
      const std::vector<KernelInfo> kernels = program_->Kernels();
      if (kernels.size() != 1) {
        return Misuse(absl::StrCat("the command line has arguments but no function", WhatThereIs(*program_, flags_.file)));
      }
      function = kernels[0].name;
    }
    absl::Status status = function.empty() ? RunMain() : RunFunction(function);
    if (status.ok() && !tuned_path_.empty()) status = SaveTuned();
    if (misuse_) return Misuse(status.message());
    return Finish(status, program_->module().files);
  }

 private:
  absl::Status ParseOutputs() {
    for (const std::string& text : flags_.outputs) {
      const size_t equals = text.find('=');
      if (flags_.tune && absl::EndsWith(text, ".tbc")) {
        tuned_path_ = text;
      } else if (equals == std::string::npos) {
        result_paths_.push_back(text);
      } else {
        argument_paths_.emplace_back(text.substr(0, equals), text.substr(equals + 1));
      }
    }
    return absl::OkStatus();
  }

  absl::Status Wrong(absl::string_view message) {
    misuse_ = true;
    return absl::InvalidArgumentError(message);
  }

  // The program as bytecode, with the configurations that were the fastest.
  absl::Status SaveTuned() {
    host::HostWorld& world = program_->world();
    if (world.chosen_configs().empty()) return absl::FailedPreconditionError(absl::StrCat("-o ", tuned_path_, ": no autotuned kernel ran"));
    isa::TuningResults results = world.stored_configs();
    for (const auto& [key, config] : world.chosen_configs()) results[key] = config;
    TILEVM_ASSIGN_OR_RETURN(const std::string bytes, isa::AddTuning(isa::WriteTbc(program_->module()), results));
    return WriteFile(tuned_path_, bytes);
  }

  absl::Status RunMain() {
    if (!result_paths_.empty() || !argument_paths_.empty()) return Wrong("-o needs a function whose arguments or result it can save");
    TILEVM_RETURN_IF_ERROR(program_->RunMain());
    report_.what = "ran as __main__";
    if (program_->world().launch_count() == 0) report_.hint = WhatThereIs(*program_, flags_.file);
    return absl::OkStatus();
  }

  absl::Status RunFunction(const std::string& name) {
    CallArgs args;
    for (const NamedValue& v : values_) args.keyword.emplace_back(v.name, v.value);
    if (program_->IsKernel(name)) {
      if (flags_.grid.empty()) return Wrong(absl::StrCat(name, " is a kernel: --grid is missing, such as --grid 'cdiv(n, BLOCK_SIZE)'"));
      for (const std::string& path : result_paths_) return Wrong(absl::StrCat("-o ", path, ": a kernel has no result; -o name=", path, " saves an argument"));
      TILEVM_RETURN_IF_ERROR(program_->LaunchValues(name, flags_.grid, args).status());
      report_.what = absl::StrCat("kernel ", name);
      for (const NamedValue& v : values_) {
        if (host::AsTensor(v.value) != nullptr) report_.values.emplace_back(v.name, v.value);
      }
    } else {
      TILEVM_RETURN_IF_ERROR(program_->Defined(name));
      if (!flags_.grid.empty()) return Wrong(absl::StrCat("--grid is for kernels; ", name, " is a host function"));
      TILEVM_ASSIGN_OR_RETURN(Value result, program_->Call(name, args));
      report_.what = absl::StrCat("called ", name);
      const bool several = result.is(ValueKind::kTuple) || result.is(ValueKind::kList);
      const std::vector<Value> results = several ? result.items().ToVector() : std::vector<Value>{result};
      for (size_t i = 0; i < results.size(); ++i) report_.values.emplace_back(several ? absl::StrCat("result[", i, "]") : "result", results[i]);
      if (!result_paths_.empty() && result_paths_.size() != results.size())
        return absl::InvalidArgumentError(absl::StrCat(name, " gave ", results.size(), results.size() == 1 ? " result" : " results", ", -o names ",
                                                       result_paths_.size(), ": -o FILE once for each, or -o 'result[0]=FILE' for one of them"));
      for (size_t i = 0; i < result_paths_.size(); ++i) TILEVM_RETURN_IF_ERROR(SaveTensor(results[i], result_paths_[i]));
    }
    for (const auto& [argument, path] : argument_paths_) {
      const auto result = std::find_if(report_.values.begin(), report_.values.end(), [&](const auto& shown) { return shown.first == argument; });
      if (result != report_.values.end() && absl::StartsWith(argument, "result")) {
        TILEVM_RETURN_IF_ERROR(SaveTensor(result->second, path));
        continue;
      }
      const auto it = std::find_if(values_.begin(), values_.end(), [&](const NamedValue& v) { return v.name == argument; });
      if (it == values_.end()) return Wrong(absl::StrCat("-o ", argument, "=", path, ": no argument ", argument, " is given"));
      TILEVM_RETURN_IF_ERROR(SaveTensor(it->value, path));
    }
    return absl::OkStatus();
  }

  int Finish(const absl::Status& status, const std::vector<SourceFile>& files) {
    report_.file = flags_.file;
    // sys.exit: the program's own way to end, with its code and perhaps a last word.
    const auto exit_code = status.GetPayload(specializer::kExitPayload);
    if (exit_code.has_value()) {
      report_.error = std::string(status.GetPayload(specializer::kExitTextPayload).value_or(absl::Cord()));
      if (!report_.error.empty()) report_.error += "\n";
      report_.what = absl::StrCat("ended itself with exit code ", std::string(*exit_code));
    } else if (!status.ok()) {
      report_.error = FormatDiagnostic(status, files);
    }
    report_.world = program_ == nullptr ? nullptr : &program_->world();
    if (flags_.json) {
      PrintJson(report_);
    } else {
      PrintText(report_, flags_.check, flags_.stats, flags_.tune);
    }
    int code = kFailed;
    if (exit_code.has_value() && absl::SimpleAtoi(std::string(*exit_code), &code)) return code;
    if (!flags_.grid.empty() && status.GetPayload(host::kGridPayload).has_value()) return kUsage;
    if (!status.ok()) return kFailed;
    return report_.world != nullptr && !report_.world->reports().empty() ? kReported : kOk;
  }

  const RunFlags& flags_;
  std::shared_ptr<Program> program_;
  std::vector<NamedValue> values_;
  std::string tuned_path_;
  std::vector<std::string> result_paths_;
  std::vector<std::pair<std::string, std::string>> argument_paths_;
  RunReport report_;
  bool misuse_ = false;
};

}  // namespace

namespace {

std::string NotNegative(const std::string& text) {
  int64_t number = 0;
  return absl::SimpleAtoi(text, &number) && number >= 0 ? "" : absl::StrCat("'", text, "' is no number from 0 on");
}

// What `run` and `tune` have in common.
CLI::App* AddVerb(CLI::App& app, const char* name, const char* text, const std::shared_ptr<RunFlags>& flags, int* exit_code) {
  CLI::App* verb = app.add_subcommand(name, text);
  verb->add_option("FILE", flags->file, "Triton source (.py), assembly (.tasm) or bytecode (.tbc)")->required();
  verb->add_option("FUNCTION", flags->rest, "a function of the file and its arguments: name=1024, name=f16, name=@x.npy, name='randn(128, 1000, f16, seed=1)'");
  verb->add_option("--grid", flags->grid, "programs to launch a kernel with: 'cdiv(n, BLOCK), 1'");
  verb->add_option("-o,--output", flags->outputs, 
                   "NAME=FILE.npy saves an argument after the run, FILE.npy what the host function returns (once for each tensor, or 'result[1]=FILE.npy')")
      ->check(HasName)
      ->allow_extra_args(false);
  AddDeviceFlags(*verb, flags->device);
  verb->add_option("--seed", flags->seed, "of random tensors without a seed of their own (0)");
  verb->add_option("-I,--import-dir", flags->import_dirs, "a folder where imported files are looked for")->allow_extra_args(false);
  verb->add_flag("--json", flags->json, "print one JSON object instead of text");
  verb->add_flag("--verbose", flags->verbose, "say what is compiled");
  verb->callback([flags, exit_code] { *exit_code = Runner(*flags).Run(); });
  return verb;
}

}  // namespace

void AddTune(CLI::App& app, int* exit_code) {
  auto flags = std::make_shared<RunFlags>();
  flags->tune = true;
  flags->device.device = "cuda";
  CLI::App* verb =
      AddVerb(app, "tune", "Run as `run` does on a GPU, timing all configurations of autotuned kernels anew; the results are kept", flags, exit_code);
  verb->get_option("--output")
      ->description(
          "FILE.tbc saves the program as bytecode with the results, for `run` and prepared launches on such a GPU; FILE.npy and NAME=FILE.npy as for run");
  verb->footer("Examples:\n  tilevm tune matmul_autotune.py\n  tilevm tune matmul_autotune.py -o matmul.tbc");
}

void AddRun(CLI::App& app, int* exit_code) {
  auto flags = std::make_shared<RunFlags>();
  CLI::App* verb = AddVerb(app, "run", "Run a file as __main__, one of its host functions, or one of its kernels", flags, exit_code);
  verb->add_flag("--debug", flags->debug, "on a GPU: check tl.device_assert, and keep line information in the code");
  verb->add_flag("--no-tune", flags->no_tune, "autotuned kernels take their first configuration that fits");
  verb->add_flag("--no-workspace", flags->no_workspace, "on a GPU: launches copy no array to aligned rows first, and take no memory of their own");
  verb->add_flag("--check", flags->check, "find out-of-bounds accesses, races and uninitialised reads; exit code 3 if there are any");
  verb->add_flag("--poison-masked", flags->poison_masked, "masked-off lanes of a load without `other` are NaN or 0xAA bytes instead of 0");
  verb->add_flag("--stats", flags->stats, "print times and rates");
  verb->add_option("--threads", flags->threads, "threads of the CPU engine (0: one for each core)")->check(NotNegative);
  verb->add_option("--max-ops", flags->max_ops, "stop a launch after so many instructions (0: no limit)")->check(NotNegative);
  verb->add_option("--max-memory", flags->max_memory, "what tensors may take in all, such as 512M or 8G (7/8 of the machine's memory)")
      ->check([](const std::string& text) { return Bytes(text) > 0 ? std::string() : absl::StrCat("'", text, "' is no size such as 512M or 8G"); });
  verb->footer("Examples:\n"
               "  tilevm run vector_add.py\n"
               "  tilevm run fused_softmax.py softmax x='randn(1823, 781, seed=1)' -o y.npy\n"
               "  tilevm run vector_add.py add_kernel n_elements=1000 x_ptr='randn(n_elements)' y_ptr='ones(n_elements)' \\\n"
               "      output_ptr='empty_like(x_ptr)' BLOCK_SIZE=256 --grid 'cdiv(n_elements, BLOCK_SIZE)' -o output_ptr=sum.npy --check");
}

}  // namespace tilevm::vm::cli
