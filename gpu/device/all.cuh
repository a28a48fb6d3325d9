// Everything that emitted text may call.
#pragma once
#include "device/atomic.cuh"
#include "device/control.cuh"
#include "device/copy_async.cuh"
#include "device/dot.cuh"
#include "device/math.cuh"
#include "device/memory.cuh"
#include "device/order.cuh"
#include "device/random.cuh"
#include "device/records.cuh"
#include "device/reduce.cuh"
#include "device/scan.cuh"
#include "device/wgmma.cuh"
