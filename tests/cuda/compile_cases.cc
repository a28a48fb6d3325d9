#include "tests/cuda/compile_cases.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <map>
#include <mutex>
#include <thread>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "gpu/compile/text_entry.h"
#include "gpu/device/headers.h"
#include "gpu/nvrtc/nvrtc.h"
#include "isa/status.h"
#include "tests/cuda/cases.h"

namespace tilevm::tests {
namespace {

constexpr size_t kKernelsPerProgram = 32;  // against NVRTC's fixed cost and that of our headers; beyond a few dozen, compiling takes longer again

struct Text {
  gpu::Emitted emitted;
  std::string example;  // the first case that gives it
};

double Seconds() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

class Run {
 public:
  explicit Run(const CompileOptions& options) : options_(options) {}

  CompileSummary Main() {
    absl::StatusOr<std::vector<Case>> cases = ReadFolders(options_.folders);
    if (!cases.ok()) {
      Fail(std::string(cases.status().message()));
      return std::move(summary_);
    }
    double start = Seconds();
    for (const std::string& arch : options_.archs) Generate(*cases, arch);
    Say(absl::StrFormat("generated in %.1f s", Seconds() - start));
    if (options_.show) return std::move(summary_);
    auto nvrtc = gpu::Nvrtc::Load();
    if (!nvrtc.ok()) {
      summary_.skipped = std::string(nvrtc.status().message());
      return std::move(summary_);
    }
    start = Seconds();
    size_t count = 0;
    for (const std::string& arch : options_.archs) count += Compile(**nvrtc, arch);
    Say(absl::StrFormat("compiled %d texts in %.1f s", static_cast<int>(count), Seconds() - start));
    return std::move(summary_);
  }

 private:
  void Say(const std::string& line) { absl::StrAppend(&summary_.text, line, "\n"); }
  void Fail(std::string text) {
    std::lock_guard<std::mutex> lock(mutex_);
    summary_.failures.push_back(std::move(text));
  }

  void Generate(const std::vector<Case>& cases, const std::string& arch) {
    absl::StatusOr<gpu::Target> target = gpu::TargetOf(arch);
    if (!target.ok()) return Fail(std::string(target.status().message()));
    size_t made = 0, ended = 0;
    std::map<std::string, size_t> known;
    std::vector<Text>& texts = texts_[arch];
    for (const Case& one : cases) {
      if (!options_.only.empty() && !absl::StrContains(one.name, options_.only)) continue;
      absl::StatusOr<ir::Kernel> kernel = KernelOf(one, options_.warps);
      if (!kernel.ok()) {
        ++ended;  // a wrong program, by the front end, the specializer or a pass
        if (one.errors.empty() && one.pending.empty()) Fail(absl::StrCat(one.name, ": ", kernel.status().message()));
        continue;
      }
      if (options_.show) {
        gpu::GenerateOptions generate;
        generate.promises = PromisesOf(one, *kernel);
        if (auto laid_out = gpu::LayOut(*kernel, *target, generate); laid_out.ok()) Say(layout::Print(*laid_out));
      }
      absl::StatusOr<gpu::Emitted> emitted = EmittedOf(one, *kernel, *target);
      if (!emitted.ok()) {
        Fail(absl::StrCat(arch, " ", one.name, ": ", emitted.status().message()));
        continue;
      }
      ++made;
      // The disk gives back what it was given.
      if (emitted->split == nullptr) {
        const std::string entry = gpu::EncodeText(*emitted);
        const absl::StatusOr<gpu::Emitted> kept = gpu::DecodeText(entry, *kernel);
        if (!kept.ok()) Fail(absl::StrCat(arch, " ", one.name, ": kept, ", kept.status().message()));
        else if (kept->text != emitted->text || gpu::EncodeText(*kept) != entry) Fail(absl::StrCat(arch, " ", one.name, ": does not come back as it was kept"));
      }
      // What tuning may choose compiles too.
      if (target->number == 90 && absl::StrContains(one.source, "make_tensor_descriptor")) {
        absl::StatusOr<gpu::Emitted> without = EmittedOf(one, *kernel, *target, false);
        if (!without.ok()) Fail(absl::StrCat(arch, " ", one.name, " without made maps: ", without.status().message()));
        else if (known.emplace(without->text, texts.size()).second) texts.push_back({*std::move(without), one.name});
      }
      if (options_.show) Say(absl::StrCat("// ", one.name, ", ", emitted->smem_bytes, " bytes of shared memory\n", emitted->text));
      if (known.emplace(emitted->text, texts.size()).second) texts.push_back({*std::move(emitted), one.name});
    }
    Say(absl::StrCat(arch, ": ", made, " cases give ", texts.size(), " texts; ", ended, " end before the engines"));
  }

  absl::Status CompileProgram(const gpu::Nvrtc& nvrtc, const std::string& arch, const std::vector<const Text*>& texts) {
    gpu::CompileRequest request;
    request.source = ProgramHead(texts[0]->emitted);
    for (size_t i = 0; i < texts.size(); ++i) absl::StrAppend(&request.source, InNamespace(texts[i]->emitted, absl::StrCat("kernel_", i)));
    request.headers = gpu::DeviceHeaderTexts();
    request.arch = arch;
    request.optimise = options_.optimise;
    return nvrtc.Compile(request).status();
  }
  void CompileOne(const gpu::Nvrtc& nvrtc, const std::string& arch, const Text& text) {
    absl::Status status = CompileProgram(nvrtc, arch, {&text});
    if (!status.ok()) Fail(absl::StrCat(arch, " ", text.example, ": ", status.message().substr(0, 1500)));
  }

  void Profile(const gpu::Nvrtc& nvrtc, const std::string& arch, const std::vector<const Text*>& texts) {
    std::vector<std::pair<double, const Text*>> times;
    for (const Text* text : texts) {
      const double start = Seconds();
      CompileOne(nvrtc, arch, *text);
      times.emplace_back(Seconds() - start, text);
    }
    std::sort(times.rbegin(), times.rend());
    for (const auto& [seconds, text] : times) Say(absl::StrFormat("%8.1f ms  %s", 1e3 * seconds, text->example));
  }

  size_t Compile(const gpu::Nvrtc& nvrtc, const std::string& arch) {
    std::vector<const Text*> texts;
    for (const Text& text : texts_[arch]) texts.push_back(&text);
    if (options_.profile) {
      Profile(nvrtc, arch, texts);
      return texts.size();
    }
    std::vector<const gpu::Emitted*> emitted;
    for (const Text* text : texts) emitted.push_back(&text->emitted);
    const std::vector<std::vector<size_t>> programs = ProgramsOf(emitted, kKernelsPerProgram);
    std::atomic<size_t> next{0};
    auto work = [&] {
      for (size_t p = next++; p < programs.size(); p = next++) {
        std::vector<const Text*> batch;
        for (size_t i : programs[p]) batch.push_back(texts[i]);
        if (CompileProgram(nvrtc, arch, batch).ok()) continue;
        for (const Text* text : batch) CompileOne(nvrtc, arch, *text);  // which one?
      }
    };
    const int count = options_.threads > 0 ? options_.threads : static_cast<int>(std::max(1u, std::thread::hardware_concurrency()));
    std::vector<std::thread> threads;
    for (int i = 0; i < count; ++i) threads.emplace_back(work);
    for (std::thread& thread : threads) thread.join();
    return texts.size();
  }

  const CompileOptions& options_;
  CompileSummary summary_;
  std::map<std::string, std::vector<Text>> texts_;
  std::mutex mutex_;
};

}  // namespace

CompileSummary CompileCases(const CompileOptions& options) { return Run(options).Main(); }

}  // namespace tilevm::tests
