// tilevm compile, as, dis: between source, assembly and bytecode.
#include <sys/stat.h>

#include <cstdio>
#include <memory>

#include <CLI/CLI.hpp>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "isa/print.h"
#include "isa/tbc.h"
#include "isa/verifier.h"
#include "vm/cli/cli.h"
#include "vm/engine.h"
#include "vm/file.h"

namespace tilevm::vm::cli {
namespace {

struct Flags {
  std::string file, output;
  std::vector<std::string> import_dirs;
  bool strip = false;
};

std::string WithoutEnding(const std::string& path, absl::string_view ending) {
  return absl::EndsWith(path, ending) ? path.substr(0, path.size() - ending.size()) : path;
}

bool IsPlainFile(const std::string& path) {
  struct stat info;
  return path != "-" && ::stat(path.c_str(), &info) == 0 && S_ISREG(info.st_mode);
}

// Source or assembly to a .tbc. Without -o: beside the file; for standard input, a pipe or a device nothing is written, the identity alone is printed.
int ToBytecode(const Flags& flags, SourceKind kind) {
  absl::StatusOr<std::string> bytes = ReadFile(flags.file, int64_t{1} << 30);
  if (!bytes.ok()) return Fail(bytes.status());
  LoadOptions load;
  load.kind = isa::LooksLikeTbc(*bytes) ? SourceKind::kBytecode : kind;
  load.import_dirs = flags.import_dirs;
  std::vector<SourceFile> files;
  const std::string name = flags.file == "-" ? "<stdin>" : flags.file;
  absl::StatusOr<isa::Module> module = LoadModuleBytes(*bytes, name, load, &files);
  if (!module.ok()) return Fail(module.status(), files);
  const absl::Status verified = isa::VerifyModule(*module);
  if (!verified.ok()) return Fail(verified, module->files);
  isa::WriteOptions options;
  options.debug = options.source = !flags.strip;
  const std::string out = isa::WriteTbc(*module, options);
  std::string output = flags.output;
  if (output.empty() && IsPlainFile(flags.file)) {
    output = absl::StrCat(WithoutEnding(WithoutEnding(flags.file, ".py"), ".tasm"), ".tbc");
  }
  if (!output.empty()) {
    const absl::Status written = WriteFile(output, out);
    if (!written.ok()) return Fail(written);
  }
  std::fprintf(output == "-" ? stderr : stdout, "%s: %zu bytes, identity %s\n", output.empty() ? name.c_str() : output.c_str(), out.size(),
               isa::Identity(*module).ToHex().c_str());
  return kOk;
}

int Disassemble(const Flags& flags) {
  absl::StatusOr<std::string> bytes = ReadFile(flags.file, int64_t{1} << 30);
  if (!bytes.ok()) return Fail(bytes.status());
  LoadOptions load;
  load.import_dirs = flags.import_dirs;
  std::vector<SourceFile> files;
  absl::StatusOr<isa::Module> module = LoadModuleBytes(*bytes, flags.file == "-" ? "<stdin>" : flags.file, load, &files);
  if (!module.ok()) return Fail(module.status(), files);
  const absl::Status written = WriteFile(flags.output.empty() ? "-" : flags.output, isa::Print(*module));
  return written.ok() ? kOk : Fail(written);
}

}  // namespace

void AddConversions(CLI::App& app, int* exit_code) {
  auto flags = std::make_shared<Flags>();
  CLI::App* compile = app.add_subcommand("compile", "Compile Triton source or assembly to bytecode");
  compile->add_option("FILE", flags->file, "Triton source (.py) or assembly (.tasm); - is standard input")->required();
  compile->add_option("-o,--output", flags->output, "the .tbc to write (FILE with that ending)")->check(HasName);
  compile->add_option("-I,--import-dir", flags->import_dirs, "a folder where imported files are looked for")->allow_extra_args(false);
  compile->add_flag("--strip", flags->strip, "leave out places and source text");
  compile->footer("Example:\n  tilevm compile vector_add.py -o vector_add.tbc");
  compile->callback([flags, exit_code] { *exit_code = ToBytecode(*flags, SourceKind::kAuto); });

  CLI::App* assemble = app.add_subcommand("as", "Assemble to bytecode");
  assemble->add_option("FILE", flags->file, "assembly (.tasm); - is standard input")->required();
  assemble->add_option("-o,--output", flags->output, "the .tbc to write (FILE with that ending)")->check(HasName);
  assemble->add_flag("--strip", flags->strip, "leave out places and source text");
  assemble->footer("Example:\n  tilevm dis vector_add.tbc | tilevm as -");
  assemble->callback([flags, exit_code] { *exit_code = ToBytecode(*flags, SourceKind::kAssembly); });

  CLI::App* dis = app.add_subcommand("dis", "Print bytecode (or source) as assembly");
  dis->add_option("FILE", flags->file, "a .tbc, .py or .tasm; - is standard input")->required();
  dis->add_option("-o,--output", flags->output, "the file to write (standard output)")->check(HasName);
  dis->add_option("-I,--import-dir", flags->import_dirs, "a folder where imported files are looked for")->allow_extra_args(false);
  dis->footer("Example:\n  tilevm dis vector_add.tbc");
  dis->callback([flags, exit_code] { *exit_code = Disassemble(*flags); });
}

}  // namespace tilevm::vm::cli
