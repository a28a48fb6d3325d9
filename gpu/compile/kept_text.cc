#include "gpu/compile/kept_text.h"

#include <sodium.h>

#include <cstring>
#include <utility>
#include <variant>

#include "gpu/compile/entry_bytes.h"
#include "isa/tbc_bytes.h"

namespace tilevm::gpu {
namespace {

using gpu::Put;
using isa::ByteWriter;

void Put(ByteWriter& out, const ir::Attr& attr) {
  out.U8(static_cast<uint8_t>(attr.index()));
  std::visit(
      [&](const auto& value) {
        using T = std::decay_t<decltype(value)>;
        if constexpr (std::is_same_v<T, bool>) {
          out.U8(value);
        } else if constexpr (std::is_same_v<T, int64_t>) {
          Put(out, value);
        } else if constexpr (std::is_same_v<T, double>) {
          uint64_t bits;
          std::memcpy(&bits, &value, sizeof(bits));
          out.Fixed(bits, 8);
        } else if constexpr (std::is_same_v<T, std::string>) {
          out.Text(value);
        } else if constexpr (std::is_same_v<T, std::vector<int64_t>>) {
          out.Varint(value.size());
          for (int64_t one : value) Put(out, one);
        } else if constexpr (std::is_same_v<T, isa::DType>) {
          out.U8(static_cast<uint8_t>(value));
        }
      },
      attr);
}

void Put(ByteWriter& out, const ir::Region& region) {
  out.Varint(region.args.size());
  for (ir::ValueId arg : region.args) out.Fixed(arg, 4);
  out.Varint(region.ops.size());
  for (const ir::Op& op : region.ops) {
    out.Fixed(static_cast<uint64_t>(op.op), 2);
    out.Varint(op.operands.size());
    for (ir::ValueId operand : op.operands) out.Fixed(operand, 4);
    out.Varint(op.results.size());
    for (ir::ValueId result : op.results) out.Fixed(result, 4);
    out.Varint(op.attrs.size());
    for (const ir::NamedAttr& attr : op.attrs) {
      out.Text(attr.name);
      Put(out, attr.value);
    }
    out.Varint(op.regions.size());
    for (const ir::Region& inner : op.regions) Put(out, inner);
    Put(out, op.loc);
  }
}

void Put(ByteWriter& out, const ir::Kernel& kernel) {
  out.Text(kernel.name);
  out.Varint(kernel.params.size());
  for (const ir::Param& param : kernel.params) {
    out.Fixed(param.value, 4);
    out.Text(param.name);
    Put(out, param.source_index);
    Put(out, param.divisibility);
    Put(out, param.loc);
  }
  out.Varint(kernel.values.size());
  for (const ir::ValueInfo& value : kernel.values) {
    Put(out, value.type);
    out.Text(value.name);
  }
  Put(out, kernel.body);
  const auto& [num_warps, num_stages, num_ctas, maxnreg, debug, fast_math] = kernel.options;
  for (int number : {num_warps, num_stages, num_ctas, maxnreg}) Put(out, number);
  for (bool flag : {debug, fast_math}) out.U8(flag);
  Put(out, kernel.loc);
}

// Bound by position and in full: a new member does not compile until it is in the key.
void Put(ByteWriter& out, const GenerateOptions& options) {
  const auto& [promises, line_directives, overlap, wgmma, merged, threads, few_programs, describe] = options;
  const auto& [no_alias, trust_signs, loops_run, parts, tail, many, boxes, turn, box_stores, workspace, made] = promises;
  for (int number : {parts, merged}) Put(out, number);
  for (bool flag : {no_alias, trust_signs, loops_run, tail, many, boxes, turn, box_stores, workspace, made, line_directives, overlap, wgmma, threads, few_programs, describe}) out.U8(flag);
}

}  // namespace

CacheKey TextKey(const ir::Kernel& kernel, const Target& target, const GenerateOptions& options, absl::string_view version) {
  ByteWriter out;
  out.Text("tilevm text 1");
  out.Text(version);
  const auto& [arch, number, max_smem_per_block, max_registers_per_thread, max_threads_per_block] = target;
  out.Text(arch);
  for (int64_t limit : {int64_t{number}, max_smem_per_block, int64_t{max_registers_per_thread}, int64_t{max_threads_per_block}}) Put(out, limit);
  Put(out, options);
  Put(out, kernel);
  CacheKey key;
  crypto_hash_sha256(key.data(), reinterpret_cast<const unsigned char*>(out.bytes().data()), out.size());
  return key;
}

}  // namespace tilevm::gpu
