// tilevm inspect: a program after a stage of the specializer.
#include <cstdio>
#include <memory>

#include <CLI/CLI.hpp>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "isa/print.h"
#include "specializer/passes/passes.h"
#include "vm/cli/cli.h"
#include "vm/cli/inspect_gpu.h"
#include "vm/cli/values.h"
#include "vm/engine.h"
#include "vm/interp/interp.h"

namespace tilevm::vm::cli {
namespace {

struct Flags {
  std::string file, stage = "typed", arch;
  bool remarks = false;
  std::vector<std::string> rest, import_dirs;
};

int Inspect(const Flags& flags) {
  std::string kernel;
  std::vector<std::string> texts;
  for (const std::string& text : flags.rest) {
    if (text.find('=') != std::string::npos) {
      texts.push_back(text);
    } else if (kernel.empty()) {
      kernel = text;
    } else {
      return Misuse(absl::StrCat("'", text, "' is not of the form name=value"));
    }
  }
  std::shared_ptr<Engine> engine = Engine::Create();
  LoadOptions load;
  load.import_dirs = flags.import_dirs;
  std::vector<SourceFile> files;
  absl::StatusOr<std::shared_ptr<Program>> loaded = engine->LoadFile(flags.file, load, &files);
  if (!loaded.ok()) return Fail(loaded.status(), files);
  Program& program = **loaded;
  const std::vector<SourceFile>& sources = program.module().files;
  if (flags.stage == "open" && !flags.remarks) {
    if (kernel.empty()) {
      std::printf("%s", isa::Print(program.module()).c_str());
      return kOk;
    }
    const int index = program.module().FindFunction(kernel);
    if (index < 0) return Fail(absl::NotFoundError(absl::StrCat("there is no function '", kernel, "' in the file")));
    std::printf("%s", isa::PrintFunction(program.module(), static_cast<uint32_t>(index)).c_str());
    return kOk;
  }
  const std::string& stage = flags.stage;
  std::vector<std::string> stages = {"open", "typed"};
  for (absl::string_view pass : specializer::PassNames()) stages.emplace_back(pass);
  const bool on_gpu = flags.remarks || std::find(GpuStages().begin(), GpuStages().end(), stage) != GpuStages().end();
  stages.emplace_back("plan");
  stages.insert(stages.end(), GpuStages().begin(), GpuStages().end());
  if (std::find(stages.begin(), stages.end(), stage) == stages.end()) {
    return Misuse(absl::StrCat("--stage ", stage, " is unknown; the stages are ", absl::StrJoin(stages, ", ")));
  }
  if (kernel.empty()) {
    const std::vector<KernelInfo> kernels = program.Kernels();
    if (kernels.size() != 1) return Misuse(absl::StrCat("the file has ", kernels.size(), " kernels; name one"));
    kernel = kernels[0].name;
  }
  absl::StatusOr<std::vector<NamedValue>> values = ParseValues(texts, program.world().generator());
  if (!values.ok()) return Misuse(values.status().message());
  specializer::CallArgs args;
  for (const NamedValue& v : *values) args.keyword.emplace_back(v.name, v.value);
  absl::StatusOr<ir::Kernel> ir = program.SpecializeStage(kernel, args, on_gpu || stage == "plan" ? "" : stage);
  if (!ir.ok()) return Fail(ir.status(), sources);
  if (on_gpu) {
    absl::StatusOr<std::string> text = flags.remarks ? GpuRemarks(*ir, flags.arch, sources) : GpuStage(*ir, stage, flags.arch);
    if (absl::IsInvalidArgument(text.status()) && !LocOf(text.status()).known()) return Misuse(text.status().message());
    if (!text.ok()) return Fail(program.WithNearest(text.status(), kernel, args, [&](const ir::Kernel& k) { return GpuFits(k, flags.arch); }), sources);
    std::fwrite(text->data(), 1, text->size(), stdout);
    return kOk;
  }
  if (stage == "plan") {
    absl::StatusOr<std::shared_ptr<const Plan>> plan = Compile(*ir);
    if (!plan.ok()) return Fail(plan.status(), sources);
    std::printf("%s", Print(**plan).c_str());
    return kOk;
  }
  std::printf("%s", ir::Print(*ir).c_str());
  return kOk;
}

}  // namespace

void AddInspect(CLI::App& app, int* exit_code) {
  auto flags = std::make_shared<Flags>();
  CLI::App* verb = app.add_subcommand("inspect", "Print a program after a stage, from the open bytecode to machine code");
  verb->add_option("FILE", flags->file, "a .py, .tasm or .tbc")->required();
  verb->add_option("KERNEL", flags->rest, "the kernel and its arguments; a type such as ptr<f32> or 'zeros(16)' stands for a tensor");
  verb->add_option("--stage", flags->stage,
                   "open, typed (before all passes), a pass (the last one is what both engines begin with), plan (what the CPU engine runs), layout, pipeline, "
                   "slice, cuda, ptx, sass or resources");
  verb->add_flag("--remarks", flags->remarks,
                 "instead of a stage: which path each load, store and dot takes on the GPU, and what stands against the better one");
  verb->add_option("--arch", flags->arch, "the GPU to generate for: sm_80, sm_86, sm_89, sm_90a, sm_100a, sm_120a (that of this machine, else sm_90a)")
      ->check([](const std::string& arch) { return arch.empty() ? std::string("the name is empty") : std::string(); });
  verb->add_option("-I,--import-dir", flags->import_dirs, "a folder where imported files are looked for")->allow_extra_args(false);
  verb->footer(
      "Example:\n"
      "  tilevm inspect vector_add.py --stage typed add_kernel x_ptr='ptr<f32>' y_ptr='ptr<f32>' output_ptr='ptr<f32>' n_elements=98432 BLOCK_SIZE=1024");
  verb->callback([flags, exit_code] { *exit_code = Inspect(*flags); });
}

}  // namespace tilevm::vm::cli
