// What templates that run on the host take from the header of this name.
#pragma once

#include <cstdint>

#define TV_DEV inline

namespace tv {

using u8 = uint8_t;
using u16 = uint16_t;
using u32 = uint32_t;
using u64 = uint64_t;

}  // namespace tv
