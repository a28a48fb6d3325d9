#include "gpu/compile/compiler.h"

#include <sodium.h>

#include <chrono>
#include <cstring>
#include <optional>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "gpu/compile/fallback.h"
#include "gpu/compile/kept_text.h"
#include "gpu/compile/text_entry.h"
#include "gpu/device/headers.h"

namespace tilevm::gpu {
namespace {

using Clock = std::chrono::steady_clock;
double MicrosSince(Clock::time_point start) { return std::chrono::duration<double, std::micro>(Clock::now() - start).count(); }

// Hashes strings so that no two lists of strings give the same bytes.
class Hasher {
 public:
  Hasher() { crypto_hash_sha256_init(&state_); }
  void Add(absl::string_view text) {
    const uint64_t size = text.size();
    unsigned char length[8];
    for (int i = 0; i < 8; ++i) length[i] = static_cast<unsigned char>(size >> (8 * i));
    crypto_hash_sha256_update(&state_, length, sizeof(length));
    crypto_hash_sha256_update(&state_, reinterpret_cast<const unsigned char*>(text.data()), text.size());
  }
  CacheKey Finish() {
    CacheKey key;
    crypto_hash_sha256_final(&state_, key.data());
    return key;
  }

 private:
  crypto_hash_sha256_state state_;
};

std::string WithoutLineDirectives(absl::string_view text) {
  std::string out;
  out.reserve(text.size());
  for (size_t at = 0; at < text.size();) {
    size_t end = text.find('\n', at);
    end = end == absl::string_view::npos ? text.size() : end + 1;
    const absl::string_view line = text.substr(at, end - at);
    if (!absl::StartsWith(line, "#line ")) absl::StrAppend(&out, line);
    at = end;
  }
  return out;
}

// An entry: registers u32, the highest bit for products that wait for each other | spilled bytes u64 | cubin.
constexpr size_t kEntryHeader = 12;
constexpr uint32_t kSerialised = 1u << 31;

std::string Pack(const CompileResult& result) {
  std::string out;
  const uint32_t registers = static_cast<uint32_t>(result.registers) | (result.serialised ? kSerialised : 0);
  for (int i = 0; i < 4; ++i) out.push_back(static_cast<char>(registers >> (8 * i)));
  for (int i = 0; i < 8; ++i) out.push_back(static_cast<char>(static_cast<uint64_t>(result.spill_bytes) >> (8 * i)));
  return out + result.cubin;
}

bool Unpack(absl::string_view entry, GpuKernel& kernel) {
  // A cubin is an ELF file; what else may lie under the key is not given to the driver.
  if (entry.size() < kEntryHeader + 4 || entry.substr(kEntryHeader, 4) != "\x7f" "ELF") return false;
  auto number = [&](size_t at, int bytes) {
    uint64_t value = 0;
    for (int i = 0; i < bytes; ++i) value |= static_cast<uint64_t>(static_cast<uint8_t>(entry[at + i])) << (8 * i);
    return value;
  };
  kernel.registers = static_cast<int>(number(0, 4) & ~uint64_t{kSerialised});
  kernel.serialised = (number(0, 4) & kSerialised) != 0;
  kernel.spill_bytes = static_cast<int64_t>(number(4, 8));
  kernel.cubin = std::string(entry.substr(kEntryHeader));
  return true;
}

}  // namespace

CacheKey KeyOf(absl::string_view text, const std::vector<std::pair<std::string, std::string>>& headers, absl::string_view arch,
               const std::vector<std::string>& options, int release) {
  Hasher hasher;
  hasher.Add("tilevm cubin 1");
  hasher.Add(WithoutLineDirectives(text));
  for (const auto& [name, content] : headers) {
    hasher.Add(name);
    hasher.Add(content);
  }
  hasher.Add("");
  hasher.Add(arch);
  for (const std::string& option : options) hasher.Add(option);
  hasher.Add(absl::StrCat(release));
  return hasher.Finish();
}

Compiler::Compiler(CompilerOptions options) : options_(std::move(options)), cache_(options_.cache) {
  nvrtc_ = std::async(std::launch::async, [library = options_.nvrtc_library] { return Nvrtc::Load(library); }).share();
}

absl::StatusOr<std::shared_ptr<const Nvrtc>> Compiler::nvrtc() { return nvrtc_.get(); }

absl::StatusOr<std::shared_ptr<const GpuKernel>> Compiler::Compile(const ir::Kernel& kernel, const Target& target, const GenerateOptions& options) {
  const Clock::time_point start = Clock::now();
  double nvrtc_us = 0;
  auto compile = [&](Emitted emitted) -> absl::StatusOr<std::shared_ptr<GpuKernel>> {
    const Clock::time_point begin = Clock::now();
    auto out = CompileText(std::move(emitted), target, kernel.options.debug);
    nvrtc_us += MicrosSince(begin);
    return out;
  };
  auto generate = [&](const GenerateOptions& variant) { return GenerateText(kernel, target, variant); };
  TILEVM_ASSIGN_OR_RETURN(std::shared_ptr<GpuKernel> out, (BestVariant<std::shared_ptr<GpuKernel>>(options, generate, compile, [](const auto& made) {
                            return BadnessOf(made->spill_bytes, made->serialised);
                          })));
  out->generate_us = MicrosSince(start) - nvrtc_us;
  return out;
}

absl::StatusOr<Emitted> Compiler::GenerateText(const ir::Kernel& kernel, const Target& target, const GenerateOptions& options) {
  if (!CanBeKept(options) || !cache_.keeps()) return Generate(kernel, target, options);
  const CacheKey key = TextKey(kernel, target, options);
  if (std::optional<std::string> entry = cache_.Get(key); entry.has_value()) {
    if (absl::StatusOr<Emitted> kept = DecodeText(*entry, kernel); kept.ok() && kept->smem_bytes <= target.max_smem_per_block) return kept;
  }
  absl::StatusOr<Emitted> made = Generate(kernel, target, options);
  if (made.ok()) cache_.Put(key, EncodeText(*made));
  return made;
}

absl::StatusOr<std::shared_ptr<GpuKernel>> Compiler::CompileText(Emitted emitted, const Target& target, bool debug) {
  auto out = std::make_shared<GpuKernel>();
  out->emitted = std::move(emitted);
  const absl::StatusOr<std::shared_ptr<const Nvrtc>>& nvrtc = nvrtc_.get();
  CompileRequest request;
  request.source = out->emitted.text;
  request.headers = DeviceHeaderTexts();
  request.arch = target.arch;
  request.line_info = debug;
  // NVRTC keeps a cache of its own in the user's home: it would hand out code without the log that tells registers and spills.
  request.own_cache = false;
  const auto key_of = [&](int release) { return KeyOf(request.source, request.headers, target.arch, Nvrtc::Options(request), release); };
  auto cached = [&](const CacheKey& key) -> bool {
    std::optional<std::string> entry = cache_.Get(key);
    if (!entry.has_value() || !Unpack(*entry, *out)) return false;
    out->from_disk = true;
    return true;
  };
  if (!nvrtc.ok()) {
    // A machine without it may have been given a cache that another one filled.
    for (const int major : {13, 12}) {
      for (int minor = 9; minor >= 0; --minor) {
        if (cached(key_of(1000 * major + 10 * minor))) return out;
      }
    }
    return nvrtc.status();
  }
  const CacheKey key = key_of((*nvrtc)->version());
  if (cached(key)) return out;
  // Processes that start at once on one machine compile a kernel once.
  const std::shared_ptr<void> lock = cache_.Lock(key);
  if (lock != nullptr && cached(key)) return out;
  const Clock::time_point start = Clock::now();
  TILEVM_ASSIGN_OR_RETURN(CompileResult compiled, (*nvrtc)->Compile(request));
  out->nvrtc_us = MicrosSince(start);
  cache_.Put(key, Pack(compiled));
  out->registers = compiled.registers;
  out->serialised = compiled.serialised;
  out->spill_bytes = compiled.spill_bytes;
  out->cubin = std::move(compiled.cubin);
  return out;
}

}  // namespace tilevm::gpu
