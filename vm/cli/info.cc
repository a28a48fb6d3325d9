// tilevm info, verify: what is in a file, and whether it is sound.
#include <cstdio>
#include <memory>

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "isa/tbc.h"
#include "isa/verifier.h"
#include "vm/cli/cli.h"
#include "vm/engine.h"
#include "vm/file.h"

namespace tilevm::vm::cli {
namespace {

struct Flags {
  std::string file;
  std::vector<std::string> import_dirs;
  bool json = false;
};

absl::string_view KindName(isa::FunctionKind kind) {
  switch (kind) {
    case isa::FunctionKind::kPlain: return "function";
    case isa::FunctionKind::kKernel: return "kernel";
    case isa::FunctionKind::kCell: return "cell";
  }
  return "?";
}

int Info(const Flags& flags) {
  absl::StatusOr<std::string> bytes = ReadFile(flags.file, int64_t{1} << 30);
  if (!bytes.ok()) return Fail(bytes.status());
  LoadOptions load;
  load.import_dirs = flags.import_dirs;
  std::vector<SourceFile> files;
  absl::StatusOr<isa::Module> module = LoadModuleBytes(*bytes, flags.file, load, &files);
  if (!module.ok()) return Fail(module.status(), files);
  const bool is_tbc = isa::LooksLikeTbc(*bytes);
  if (!is_tbc) bytes = isa::WriteTbc(*module);
  absl::StatusOr<isa::TbcInfo> info = isa::InspectTbc(*bytes);
  if (!info.ok()) return Fail(info.status());
  std::shared_ptr<Engine> engine = Engine::Create();
  absl::StatusOr<std::shared_ptr<Program>> program = engine->LoadModule(*std::move(module));
  if (!program.ok()) return Fail(program.status());
  const std::vector<KernelInfo> kernels = (*program)->Kernels();

  if (flags.json) {
    using nlohmann::ordered_json;
    ordered_json out = {{"file", flags.file}, {"identity", info->identity.ToHex()}, {"format", absl::StrCat(info->major_version, ".", info->minor_version)},
                        {"bytes", info->file_bytes}, {"sections", ordered_json::array()}, {"functions", ordered_json::array()}, {"kernels", ordered_json::array()}};
    for (const isa::TbcSection& s : info->sections)
      out["sections"].push_back({{"name", s.name}, {"offset", s.offset}, {"bytes", s.length}, {"skippable", s.skippable}});
    for (const isa::TbcFunctionInfo& f : info->functions) {
      out["functions"].push_back({{"name", f.name}, {"kind", std::string(KindName(f.kind))}, {"code_bytes", f.code_bytes}});
    }
    for (const KernelInfo& k : kernels)
      out["kernels"].push_back({{"name", k.name}, {"params", k.params}, {"constexprs", k.constexprs}, {"autotuned", k.autotuned}});
    std::printf("%s\n", out.dump(2, ' ', false, ordered_json::error_handler_t::replace).c_str());
    return kOk;
  }
  std::printf("%s: %s%llu bytes, format %d.%d\nidentity %s\n", flags.file.c_str(), is_tbc ? "" : "as bytecode ",
              static_cast<unsigned long long>(info->file_bytes), info->major_version, info->minor_version, info->identity.ToHex().c_str());
  std::printf("\nsections\n");
  for (const isa::TbcSection& s : info->sections) {
    std::printf("  %-16s %8llu bytes at %llu%s%s\n", s.name.c_str(), static_cast<unsigned long long>(s.length), static_cast<unsigned long long>(s.offset),
                s.compressed ? ", compressed" : "", s.skippable ? ", may be stripped" : "");
  }
  std::printf("\nfunctions\n");
  for (const isa::TbcFunctionInfo& f : info->functions) {
    std::printf("  %-24s %-8s %6llu bytes of code\n", f.name.empty() ? "-" : f.name.c_str(), std::string(KindName(f.kind)).c_str(),
                static_cast<unsigned long long>(f.code_bytes));
  }
  if (!kernels.empty()) std::printf("\nkernels\n");
  for (const KernelInfo& k : kernels) {
    std::printf("  %s(%s)%s\n", k.name.c_str(), absl::StrJoin(k.params, ", ").c_str(), k.autotuned ? ", autotuned" : "");
    if (!k.constexprs.empty()) std::printf("    constexpr: %s\n", absl::StrJoin(k.constexprs, ", ").c_str());
  }
  return kOk;
}

int VerifyFile(const Flags& flags) {
  absl::StatusOr<std::string> bytes = ReadFile(flags.file, int64_t{1} << 30);
  if (!bytes.ok()) return Fail(bytes.status());
  LoadOptions load;
  load.import_dirs = flags.import_dirs;
  std::vector<SourceFile> files;
  absl::StatusOr<isa::Module> module = LoadModuleBytes(*bytes, flags.file, load, &files);
  if (!module.ok()) return Fail(module.status(), files);
  const absl::Status status = isa::VerifyModule(*module);
  if (!status.ok()) return Fail(status, module->files);
  std::printf("%s: sound, %zu functions, identity %s\n", flags.file.c_str(), module->functions.size(), isa::Identity(*module).ToHex().c_str());
  return kOk;
}

}  // namespace

void AddInfo(CLI::App& app, int* exit_code) {
  auto flags = std::make_shared<Flags>();
  CLI::App* info = app.add_subcommand("info", "Show sections, functions, kernels and identity of a file");
  info->add_option("FILE", flags->file, "a .tbc, .py or .tasm")->required();
  info->add_option("-I,--import-dir", flags->import_dirs, "a folder where imported files are looked for")->allow_extra_args(false);
  info->add_flag("--json", flags->json, "print one JSON object instead of text");
  info->footer("Example:\n  tilevm info vector_add.tbc");
  info->callback([flags, exit_code] { *exit_code = Info(*flags); });

  CLI::App* verify = app.add_subcommand("verify", "Check that a file is sound");
  verify->add_option("FILE", flags->file, "a .tbc, .py or .tasm")->required();
  verify->add_option("-I,--import-dir", flags->import_dirs, "a folder where imported files are looked for")->allow_extra_args(false);
  verify->footer("Example:\n  tilevm verify vector_add.tbc");
  verify->callback([flags, exit_code] { *exit_code = VerifyFile(*flags); });
}

}  // namespace tilevm::vm::cli
