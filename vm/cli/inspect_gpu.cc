#include "vm/cli/inspect_gpu.h"

#include <unistd.h>

#include <cstdio>
#include <cstdlib>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "gpu/compile/fallback.h"
#include "gpu/compile/generate.h"
#include "gpu/compile/remarks.h"
#include "gpu/device/headers.h"
#include "gpu/launch/device.h"
#include "gpu/nvrtc/nvrtc.h"

namespace tilevm::vm::cli {
namespace {

constexpr char kRemark[] = "\x01";

absl::StatusOr<gpu::Target> TargetFor(absl::string_view arch) {
  if (!arch.empty()) return gpu::TargetOf(arch);
  absl::StatusOr<std::vector<gpu::DeviceProperties>> devices = gpu::Device::List();
  if (devices.ok() && !devices->empty()) {
    absl::StatusOr<gpu::Target> target = gpu::TargetOfCapability((*devices)[0].major, (*devices)[0].minor);
    if (target.ok()) return target;
  }
  return gpu::TargetOf("sm_90a");
}

// The toolkit's disassembler reads files only.
absl::StatusOr<std::string> Disassemble(const std::string& cubin) {
  const char* folder = std::getenv("TMPDIR");
  std::string path = absl::StrCat(folder != nullptr && *folder != 0 ? folder : "/tmp", "/tilevm-XXXXXX");
  const int file = mkstemp(path.data());
  if (file < 0) return absl::InternalError(absl::StrCat("cannot make a temporary file ", path));
  size_t done = 0;
  while (done < cubin.size()) {
    const ssize_t n = write(file, cubin.data() + done, cubin.size() - done);
    if (n <= 0) break;
    done += static_cast<size_t>(n);
  }
  close(file);
  std::string out;
  int result = -1;
  if (done == cubin.size()) {
    // The path is ours: no character of it needs quoting but a TMPDIR with odd ones, hence the quotes.
    const std::string command = absl::StrCat("PATH=\"$PATH:/usr/local/cuda/bin\" nvdisasm --print-code '", path, "' 2>&1");
    if (FILE* pipe = popen(command.c_str(), "r")) {
      char buffer[4096];
      for (size_t n; (n = fread(buffer, 1, sizeof(buffer), pipe)) > 0;) out.append(buffer, n);
      result = pclose(pipe);
    }
  }
  unlink(path.c_str());
  if (result != 0) return absl::FailedPreconditionError(absl::StrCat("--stage sass needs nvdisasm of the CUDA toolkit: ", out.substr(0, 200)));
  return out;
}

}  // namespace

const std::vector<std::string>& GpuStages() {
  static const auto* const kStages = new std::vector<std::string>{"layout", "pipeline", "slice", "cuda", "ptx", "sass", "resources"};
  return *kStages;
}

absl::StatusOr<std::string> GpuStage(const ir::Kernel& kernel, absl::string_view stage, absl::string_view arch) {
  TILEVM_ASSIGN_OR_RETURN(gpu::Target target, TargetFor(arch));
  if (stage == "layout") {
    TILEVM_ASSIGN_OR_RETURN(layout::LayoutKernel laid_out, gpu::LayOut(kernel, target, {}));
    return layout::Print(laid_out);
  }
  if (stage == "slice" || stage == "cuda") {
    TILEVM_ASSIGN_OR_RETURN(gpu::Emitted emitted, gpu::Generate(kernel, target));
    if (stage == "cuda") return emitted.text;
    std::vector<std::string> names;
    for (const ir::Param& param : kernel.params) names.push_back(param.name);
    return emitted.slice.empty() ? "nothing has to hold\n" : launch::Print(emitted.slice, names);
  }
  gpu::GenerateOptions options;
  options.describe = stage == "pipeline";
  absl::StatusOr<std::shared_ptr<const gpu::Nvrtc>> loaded = gpu::Nvrtc::Load();
  if (!loaded.ok() && stage == "pipeline") {
    TILEVM_ASSIGN_OR_RETURN(gpu::Emitted emitted, gpu::Generate(kernel, target, options));
    return absl::StrCat(emitted.plan, "not assembled here, where a plan that spills would give way to a plainer one: ", loaded.status().message(), "\n");
  }
  TILEVM_ASSIGN_OR_RETURN(const std::shared_ptr<const gpu::Nvrtc> nvrtc, std::move(loaded));
  int texts = 0;
  using Made = std::pair<gpu::Emitted, gpu::CompileResult>;
  auto compile = [&](gpu::Emitted text) -> absl::StatusOr<Made> {
    ++texts;
    gpu::CompileRequest request;
    request.source = text.text;
    request.headers = gpu::DeviceHeaderTexts();
    request.arch = target.arch;
    request.line_info = kernel.options.debug;
    request.want_ptx = stage == "ptx";
    TILEVM_ASSIGN_OR_RETURN(gpu::CompileResult result, nvrtc->Compile(request));
    return Made(std::move(text), std::move(result));
  };
  TILEVM_ASSIGN_OR_RETURN(Made made, (gpu::BestVariant<Made>(kernel, target, options, compile, [](const Made& m) { return gpu::BadnessOf(m.second.spill_bytes, m.second.serialised); })));
  const auto& [emitted, compiled] = made;
  if (stage == "pipeline") {
    return absl::StrCat(emitted.plan, "assembled with ", compiled.registers, " registers a thread, ", compiled.spill_bytes, " bytes spilled",
                        texts == 1 ? "" : absl::StrCat(": the best of ", texts, " plans, for more liberties spill"), "\n");
  }
  if (stage == "ptx") return compiled.ptx;
  if (stage == "sass") return Disassemble(compiled.cubin);
  return absl::StrCat("kernel ", emitted.entry, " for ", target.arch, ": ", emitted.threads, " threads, ", compiled.registers, " registers, ", compiled.spill_bytes,
                      " bytes spilled, ", emitted.smem_bytes, " of ", target.max_smem_per_block, " bytes of shared memory, ", compiled.cubin.size(),
                      " bytes of cubin\n");
}

absl::Status GpuFits(const ir::Kernel& kernel, absl::string_view arch) {
  TILEVM_ASSIGN_OR_RETURN(const gpu::Target target, TargetFor(arch));
  return gpu::Generate(kernel, target).status();
}

absl::StatusOr<std::string> GpuRemarks(const ir::Kernel& kernel, absl::string_view arch, const std::vector<SourceFile>& files) {
  TILEVM_ASSIGN_OR_RETURN(gpu::Target target, TargetFor(arch));
  TILEVM_ASSIGN_OR_RETURN(layout::LayoutKernel laid_out, gpu::LayOut(kernel, target, {}));
  std::string out;
  for (const gpu::Remark& remark : gpu::Remarks(laid_out, target, {})) {
    // As an error is shown, under another word.
    out += absl::StrReplaceAll(FormatDiagnostic(ErrorAt(remark.loc, absl::StatusCode::kUnknown, kRemark, remark.text), files), {{absl::StrCat("error: ", kRemark), "remark: "}});
  }
  return out;
}

}  // namespace tilevm::vm::cli
