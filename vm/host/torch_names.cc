// The names that torch has and this host does not: a program may mention them (a table of dtypes, a class in isinstance, a function it never calls), where a
// misspelt name is an AttributeError as in Python. What is inside namespaces without a list here (torch.distributed, torch._dynamo, ...) is taken to be there.
#include <algorithm>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "specializer/partial_eval/nearest_name.h"
#include "vm/host/host.h"
#include "vm/host/torch_table.h"

namespace tilevm::vm::host {
namespace {

// dtypes that no tensor here has: equal to themselves alone.
constexpr absl::string_view kDTypes =
    "complex32 complex64 complex128 cfloat cdouble chalf quint8 qint8 qint32 quint4x2 quint2x4 bits8 bits16 bits1x8 bits2x4 bits4x2 float8_e4m3fnuz "
    "float8_e5m2fnuz float8_e8m0fnu float4_e2m1fn_x2 uint1 uint2 uint3 uint4 uint5 uint6 uint7 int1 int2 int3 int4 int5 int6 int7";

// Whatever lies below them is taken to be there.
constexpr absl::string_view kOpenNamespaces =
    "accelerator amp ao autograd backends classes compiler contrib cpu distributed distributions export fft func functional functorch futures fx hub jit "
    "library masked monitor mps mtia multiprocessing nested onnx ops optim overrides package profiler quantization quasirandom random return_types "
    "serialization signal sparse special storage sym_node testing torch_version types utils xpu npu hpu mlu musa Tensor Generator Storage UntypedStorage "
    "nn.modules nn.init nn.utils nn.parallel nn.parameter nn.attention nn.intrinsic nn.qat nn.quantized nn.quantizable nn.grad nn.common_types nn.backends "
    "cuda.amp cuda.nvtx cuda.comm cuda.graphs cuda.jiterator cuda.memory cuda.nccl cuda.profiler cuda.random cuda.sparse cuda.streams cuda.tunable cuda.gds "
    "cuda.green_contexts";

constexpr absl::string_view kNames =
    // types and values
    "AcceleratorError AnyType Argument BFloat16Storage BFloat16Tensor BoolStorage BoolTensor ByteStorage ByteTensor CharStorage CharTensor "
    "ComplexDoubleStorage DeserializationStorageContext DisableTorchFunction DisableTorchFunctionSubclass DoubleStorage DoubleTensor Event FatalError "
    "FloatStorage HalfStorage HalfTensor IntStorage IntTensor LongStorage OutOfMemoryError ScriptModule ScriptFunction ScriptObject ShortStorage "
    "ShortTensor Stream SymBool SymFloat SymInt TypedStorage device_count newaxis channels_last channels_last_3d sparse_coo sparse_csr sparse_csc "
    "sparse_bsr sparse_bsc jagged per_tensor_affine per_tensor_symmetric per_channel_affine per_channel_symmetric per_channel_affine_float_qparams layout "
    "memory_format qscheme legacy_contiguous_format default_generator math finfo iinfo "
    // functions
    "absolute acos acosh adaptive_avg_pool1d adaptive_max_pool1d addbmm addcdiv addcmul addmv addr adjoint affine_grid_generator alias_copy align_tensors "
    "alpha_dropout aminmax angle arccos arccosh arcsin arcsinh arctan arctan2 arctanh are_deterministic_algorithms_enabled argwhere asarray asin asinh atan "
    "atan2 atanh atleast_1d atleast_2d atleast_3d autocast_decrement_nesting autocast_increment_nesting avg_pool1d baddbmm bartlett_window batch_norm "
    "bernoulli bilinear binary_cross_entropy_with_logits binomial bitwise_and bitwise_left_shift bitwise_not bitwise_or bitwise_right_shift bitwise_xor "
    "blackman_window block_diag broadcast_shapes broadcast_tensors broadcast_to bucketize can_cast cartesian_prod cdist ceil celu chain_matmul "
    "channel_shuffle cholesky cholesky_inverse cholesky_solve clamp_max clamp_min clear_autocast_cache clip clone column_stack combinations compile "
    "compiled_with_cxx11_abi complex concat concatenate cond conj conj_physical constant_pad_nd conv1d conv2d conv3d conv_tbc conv_transpose1d "
    "conv_transpose2d conv_transpose3d convolution copysign corrcoef cos cosh cosine_embedding_loss cosine_similarity count_nonzero cov cross ctc_loss "
    "cudnn_is_acceptable cummax cummin cumulative_trapezoid deg2rad dequantize det detach diag_embed diagflat diagonal diagonal_copy diagonal_scatter diff "
    "digamma dist div divide dot dropout dsmm dsplit dstack embedding embedding_bag empty_permuted enable_grad erf erfc erfinv exp2 expand_copy expm1 eq "
    "equal feature_alpha_dropout feature_dropout fix flatten fliplr flipud float_power floor floor_divide fmax fmin fmod frac frexp frobenius_norm "
    "from_dlpack from_file from_numpy frombuffer fused_moving_avg_obs_fake_quant gcd ge geqrf ger get_autocast_cpu_dtype get_autocast_dtype "
    "get_autocast_gpu_dtype get_default_device get_deterministic_debug_mode get_device get_device_module get_file_path get_float32_matmul_precision "
    "get_num_interop_threads get_num_threads get_rng_state gradient greater greater_equal grid_sampler grid_sampler_2d grid_sampler_3d group_norm gru "
    "gru_cell gt hamming_window hann_window hardshrink hash_tensor heaviside hinge_embedding_loss histc histogram histogramdd hsmm hsplit hspmm hypot i0 "
    "igamma igammac imag import_ir_module index_fill index_put index_reduce inference_mode init_num_threads initial_seed inner instance_norm int_repr "
    "inverse is_anomaly_enabled is_autocast_available is_autocast_cache_enabled is_autocast_cpu_enabled is_autocast_enabled is_complex is_conj "
    "is_deterministic_algorithms_warn_only_enabled is_distributed is_floating_point is_inference is_inference_mode_enabled is_neg is_nonzero is_same_size "
    "is_signed is_storage is_vulkan_available is_warn_always_enabled isfinite isin isinf isnan isneginf isposinf isreal istft kaiser_window kl_div kron "
    "kthvalue layer_norm lcm ldexp le lerp less less_equal lgamma linspace load lobpcg log10 log1p log2 log_softmax logaddexp logaddexp2 logcumsumexp "
    "logdet logical_and logical_not logical_or logical_xor logit logspace lstm lstm_cell lt lu lu_solve lu_unpack margin_ranking_loss masked_fill "
    "masked_scatter matrix_exp matrix_power max_pool1d max_pool1d_with_indices max_pool2d max_pool3d maximum median meshgrid min minimum mode moveaxis "
    "movedim msort mul multinomial multiply mv mvlgamma nan_to_num nanmean nanmedian nanquantile nansum narrow narrow_copy native_batch_norm "
    "native_channel_shuffle native_dropout native_group_norm native_layer_norm native_norm ne neg negative nextafter no_grad nonzero_static norm_except_dim "
    "normal not_equal nuclear_norm numel orgqr ormqr pairwise_distance parse_ir parse_schema parse_type_comment pca_lowrank pdist permute permute_copy "
    "pinverse pixel_shuffle pixel_unshuffle poisson poisson_nll_loss polar polygamma positive pow prelu prepare_multiprocessing_environment "
    "profiler_allow_cudagraph_cupti_lazy_reinit_cuda12 promote_types put qr quantile quantize_per_channel quantize_per_tensor quantize_per_tensor_dynamic "
    "rad2deg randint_like range ravel read_vitals real reciprocal relu remainder renorm reshape resolve_conj resolve_neg result_type rms_norm rnn_relu "
    "rnn_relu_cell rnn_tanh rnn_tanh_cell roll rot90 round row_stack rrelu rsub save scalar_tensor scatter_reduce searchsorted seed segment_reduce select "
    "select_copy select_scatter selu set_anomaly_enabled set_autocast_cache_enabled set_autocast_cpu_dtype set_autocast_cpu_enabled set_autocast_dtype "
    "set_autocast_enabled set_autocast_gpu_dtype set_default_dtype set_default_tensor_type set_deterministic_debug_mode set_flush_denormal "
    "set_num_interop_threads set_rng_state set_vital set_warn_always sgn sigmoid sign signbit sin sinc sinh slice_copy slice_inverse slice_scatter slogdet "
    "smm softmax sparse_bsc_tensor sparse_bsr_tensor sparse_compressed_tensor sparse_coo_tensor sparse_csc_tensor sparse_csr_tensor split_copy "
    "split_with_sizes split_with_sizes_copy spmm square squeeze squeeze_copy sspaddmm std_mean stft sub subtract sum_to_size svd svd_lowrank swapaxes "
    "swapdims sym_constrain_range sym_float sym_fresh_size sym_int sym_ite sym_max sym_min sym_not sym_sqrt sym_sum symeig t take tan tanh tensor_split "
    "tensordot threshold tile trace transpose transpose_copy trapezoid trapz triangular_solve tril_indices triplet_margin_loss triu_indices true_divide "
    "trunc typename unbind_copy unflatten unfold_copy unify_type_list unique unique_consecutive unravel_index unsafe_chunk unsafe_split "
    "unsafe_split_with_sizes unsqueeze unsqueeze_copy use_deterministic_algorithms vander var_mean vdot view_as_complex view_as_complex_copy view_as_real "
    "view_as_real_copy view_copy vitals_enabled vmap vsplit wait while_loop where xlogy zero is_deterministic set_deterministic matrix_rank lstsq eig sspmm "
    "fbgemm_pack_gemm_matrix_fp16 compile_cache gather_scatter cudnn_convolution "
    // namespaces whose names are listed
    "nn cuda linalg version nn.functional nn.Parameter nn.Buffer nn.Module nn.AdaptiveAvgPool1d nn.AdaptiveAvgPool2d nn.AdaptiveAvgPool3d "
    "nn.AdaptiveLogSoftmaxWithLoss nn.AdaptiveMaxPool1d nn.AdaptiveMaxPool2d nn.AdaptiveMaxPool3d nn.AlphaDropout nn.AvgPool1d nn.AvgPool2d nn.AvgPool3d "
    "nn.BCELoss nn.BCEWithLogitsLoss nn.BatchNorm1d nn.BatchNorm2d nn.BatchNorm3d nn.Bilinear nn.CELU nn.CTCLoss nn.ChannelShuffle nn.CircularPad1d "
    "nn.CircularPad2d nn.CircularPad3d nn.ConstantPad1d nn.ConstantPad2d nn.ConstantPad3d nn.Container nn.Conv1d nn.Conv2d nn.Conv3d nn.ConvTranspose1d "
    "nn.ConvTranspose2d nn.ConvTranspose3d nn.CosineEmbeddingLoss nn.CosineSimilarity nn.CrossEntropyLoss nn.DataParallel nn.Dropout nn.Dropout1d "
    "nn.Dropout2d nn.Dropout3d nn.ELU nn.Embedding nn.EmbeddingBag nn.FeatureAlphaDropout nn.Flatten nn.Fold nn.FractionalMaxPool2d nn.FractionalMaxPool3d "
    "nn.GELU nn.GLU nn.GRU nn.GRUCell nn.GaussianNLLLoss nn.GroupNorm nn.Hardshrink nn.Hardsigmoid nn.Hardswish nn.Hardtanh nn.HingeEmbeddingLoss "
    "nn.HuberLoss nn.Identity nn.InstanceNorm1d nn.InstanceNorm2d nn.InstanceNorm3d nn.KLDivLoss nn.L1Loss nn.LPPool1d nn.LPPool2d nn.LPPool3d nn.LSTM "
    "nn.LSTMCell nn.LayerNorm nn.LazyLinear nn.LeakyReLU nn.Linear nn.LocalResponseNorm nn.LogSigmoid nn.LogSoftmax nn.MSELoss nn.MarginRankingLoss "
    "nn.MaxPool1d nn.MaxPool2d nn.MaxPool3d nn.MaxUnpool1d nn.MaxUnpool2d nn.MaxUnpool3d nn.Mish nn.ModuleDict nn.ModuleList nn.MultiLabelMarginLoss "
    "nn.MultiLabelSoftMarginLoss nn.MultiMarginLoss nn.MultiheadAttention nn.NLLLoss nn.NLLLoss2d nn.PReLU nn.PairwiseDistance nn.ParameterDict "
    "nn.ParameterList nn.PixelShuffle nn.PixelUnshuffle nn.PoissonNLLLoss nn.RMSNorm nn.RNN nn.RNNBase nn.RNNCell nn.RNNCellBase nn.RReLU nn.ReLU nn.ReLU6 "
    "nn.ReflectionPad1d nn.ReflectionPad2d nn.ReflectionPad3d nn.ReplicationPad1d nn.ReplicationPad2d nn.ReplicationPad3d nn.SELU nn.Sequential nn.SiLU "
    "nn.Sigmoid nn.SmoothL1Loss nn.SoftMarginLoss nn.Softmax nn.Softmax2d nn.Softmin nn.Softplus nn.Softshrink nn.Softsign nn.SyncBatchNorm nn.Tanh "
    "nn.Tanhshrink nn.Threshold nn.Transformer nn.TransformerDecoder nn.TransformerDecoderLayer nn.TransformerEncoder nn.TransformerEncoderLayer "
    "nn.TripletMarginLoss nn.TripletMarginWithDistanceLoss nn.Unflatten nn.Unfold nn.UninitializedBuffer nn.UninitializedParameter nn.Upsample "
    "nn.UpsamplingBilinear2d nn.UpsamplingNearest2d nn.ZeroPad1d nn.ZeroPad2d nn.ZeroPad3d nn.factory_kwargs nn.LazyConv1d nn.LazyConv2d nn.LazyConv3d "
    "nn.LazyBatchNorm1d nn.LazyBatchNorm2d nn.LazyBatchNorm3d nn.LazyConvTranspose2d nn.functional.GRID_SAMPLE_INTERPOLATION_MODES "
    "nn.functional.GRID_SAMPLE_PADDING_MODES nn.functional.DType nn.functional.Tensor nn.functional.torch nn.functional.adaptive_avg_pool1d "
    "nn.functional.adaptive_avg_pool2d nn.functional.adaptive_avg_pool3d nn.functional.adaptive_max_pool1d nn.functional.adaptive_max_pool2d "
    "nn.functional.adaptive_max_pool3d nn.functional.affine_grid nn.functional.alpha_dropout nn.functional.assert_int_or_pair nn.functional.avg_pool1d "
    "nn.functional.avg_pool2d nn.functional.avg_pool3d nn.functional.batch_norm nn.functional.bilinear nn.functional.celu nn.functional.channel_shuffle "
    "nn.functional.conv1d nn.functional.conv2d nn.functional.conv3d nn.functional.conv_tbc nn.functional.conv_transpose1d nn.functional.conv_transpose2d "
    "nn.functional.conv_transpose3d nn.functional.cosine_embedding_loss nn.functional.ctc_loss nn.functional.dropout nn.functional.dropout1d "
    "nn.functional.dropout2d nn.functional.dropout3d nn.functional.elu nn.functional.embedding_bag nn.functional.feature_alpha_dropout nn.functional.fold "
    "nn.functional.fractional_max_pool2d nn.functional.fractional_max_pool3d nn.functional.gaussian_nll_loss nn.functional.grid_sample "
    "nn.functional.gumbel_softmax nn.functional.hardshrink nn.functional.hardsigmoid nn.functional.hardswish nn.functional.hardtanh "
    "nn.functional.hinge_embedding_loss nn.functional.instance_norm nn.functional.interpolate nn.functional.leaky_relu nn.functional.local_response_norm "
    "nn.functional.logsigmoid nn.functional.lp_pool1d nn.functional.lp_pool2d nn.functional.lp_pool3d nn.functional.margin_ranking_loss "
    "nn.functional.max_pool1d nn.functional.max_pool1d_with_indices nn.functional.max_pool2d nn.functional.max_pool2d_with_indices nn.functional.max_pool3d "
    "nn.functional.max_pool3d_with_indices nn.functional.max_unpool1d nn.functional.max_unpool2d nn.functional.max_unpool3d nn.functional.mish "
    "nn.functional.multi_head_attention_forward nn.functional.multi_margin_loss nn.functional.multilabel_margin_loss "
    "nn.functional.multilabel_soft_margin_loss nn.functional.native_channel_shuffle nn.functional.pairwise_distance nn.functional.pdist "
    "nn.functional.pixel_shuffle nn.functional.pixel_unshuffle nn.functional.poisson_nll_loss nn.functional.prelu nn.functional.relu6 nn.functional.rrelu "
    "nn.functional.selu nn.functional.soft_margin_loss nn.functional.softmin nn.functional.softplus nn.functional.softshrink nn.functional.softsign "
    "nn.functional.tanhshrink nn.functional.threshold nn.functional.triplet_margin_loss nn.functional.triplet_margin_with_distance_loss "
    "nn.functional.unfold nn.functional.upsample nn.functional.upsample_bilinear nn.functional.upsample_nearest nn.functional.scaled_mm "
    "nn.functional.grouped_mm nn.functional.scaled_grouped_mm nn.functional.has_torch_function cuda.BFloat16Tensor cuda.BoolTensor cuda.ByteTensor "
    "cuda.CUDAGraph cuda.CUDAPluggableAllocator cuda.CharTensor cuda.DeferredCudaCallError cuda.DoubleTensor cuda.ExternalStream cuda.FloatTensor "
    "cuda.HalfTensor cuda.IntTensor cuda.LongTensor cuda.MemPool cuda.OutOfMemoryError cuda.ShortTensor cuda.StreamContext cuda.caching_allocator_alloc "
    "cuda.caching_allocator_delete cuda.can_device_access_peer cuda.change_current_allocator cuda.check_error cuda.clock_rate cuda.cudaStatus cuda.cudart "
    "cuda.current_blas_handle cuda.default_generators cuda.device_memory_used cuda.get_allocator_backend cuda.get_arch_list cuda.get_gencode_flags "
    "cuda.get_per_process_memory_fraction cuda.get_rng_state cuda.get_rng_state_all cuda.get_stream_from_external cuda.get_sync_debug_mode cuda.graph "
    "cuda.graph_pool_handle cuda.has_half cuda.has_magma cuda.host_memory_stats cuda.initial_seed cuda.ipc_collect cuda.is_current_stream_capturing "
    "cuda.is_tf32_supported cuda.list_gpu_processes cuda.make_graphed_callables cuda.manual_seed cuda.manual_seed_all cuda.max_memory_cached "
    "cuda.max_memory_reserved cuda.memory_cached cuda.memory_snapshot cuda.memory_stats cuda.memory_stats_as_nested_dict cuda.memory_summary "
    "cuda.memory_usage cuda.power_draw cuda.reset_accumulated_memory_stats cuda.reset_max_memory_allocated cuda.reset_max_memory_cached cuda.seed "
    "cuda.seed_all cuda.set_per_process_memory_fraction cuda.set_rng_state cuda.set_rng_state_all cuda.set_stream cuda.set_sync_debug_mode cuda.temperature "
    "cuda.use_mem_pool cuda.utilization linalg.LinAlgError linalg.cholesky linalg.cholesky_ex linalg.cond linalg.cross linalg.det linalg.diagonal "
    "linalg.eig linalg.eigh linalg.eigvals linalg.eigvalsh linalg.householder_product linalg.inv linalg.inv_ex linalg.ldl_factor linalg.ldl_factor_ex "
    "linalg.ldl_solve linalg.lstsq linalg.lu linalg.lu_factor linalg.lu_factor_ex linalg.lu_solve linalg.matmul linalg.matrix_exp linalg.matrix_norm "
    "linalg.matrix_power linalg.matrix_rank linalg.multi_dot linalg.norm linalg.pinv linalg.qr linalg.slogdet linalg.solve linalg.solve_ex "
    "linalg.solve_triangular linalg.svd linalg.svdvals linalg.tensorinv linalg.tensorsolve linalg.vander linalg.vecdot linalg.vector_norm version.cuda "
    "version.hip version.xpu version.debug version.git_version version.rocm";

// What a Tensor has beside torch's functions of the same name.
constexpr absl::string_view kTensorAttributes =
    "H T mH mT apply_ as_subclass backward bernoulli_ bfloat16 bool byte cauchy_ cdouble cfloat chalf char coalesce col_indices conj contiguous copy_ cpu "
    "crow_indices cuda data data_ptr dense_dim device dim dim_order double dtype element_size expand expand_as exponential_ fill_ fill_diagonal_ float "
    "geometric_ get_device grad grad_fn half has_names imag index_add_ index_copy_ indices int ipu is_coalesced is_contiguous is_cpu is_cuda is_leaf "
    "is_meta is_mkldnn is_mps is_nested is_pinned is_quantized is_set_to is_shared is_sparse is_sparse_csr is_view is_xpu item itemsize layout log_normal_ "
    "long map_ map2_ module_load name names nbytes ndim ndimension ndimension_ nelement new new_empty new_empty_strided new_full new_ones new_tensor "
    "new_zeros normal_ numpy output_nr pin_memory q_scale q_zero_point qscheme random_ real record_stream refine_names register_hook "
    "register_post_accumulate_grad_hook reinforce rename repeat requires_grad requires_grad_ reshape_as resize resize_ resize_as_ retain_grad retains_grad "
    "set_ shape share_memory_ short size sparse_dim sparse_mask storage storage_offset storage_type stride to to_dense to_mkldnn to_padded_tensor to_sparse "
    "to_sparse_csr tolist type type_as unfold uniform_ untyped_storage values view view_as volatile xpu unflatten put_ scatter_ scatter_add_ "
    "scatter_reduce_ masked_scatter_ zero_ detach_";

struct Names {
  absl::flat_hash_set<absl::string_view> dtypes, open, names, of_tensors;
};

const Names& TheNames() {
  static const Names* const names = [] {
    auto* n = new Names;
    for (auto [text, set] : {std::pair(kDTypes, &n->dtypes), std::pair(kOpenNamespaces, &n->open), std::pair(kNames, &n->names),
                             std::pair(kTensorAttributes, &n->of_tensors)}) {
      for (absl::string_view name : absl::StrSplit(text, ' ', absl::SkipEmpty())) set->insert(name);
    }
    return n;
  }();
  return *names;
}

bool IsHere(absl::string_view path) { return TorchConstant(path).has_value() || FindTorchFunction(path) != nullptr || IsTorchNamespace(path); }

bool IsThere(absl::string_view path) {
  const Names& names = TheNames();
  return names.names.contains(path) || names.open.contains(path) || names.dtypes.contains(path) || IsHere(path);
}

}  // namespace

bool IsTensorAttribute(absl::string_view name) {
  if (absl::StartsWith(name, "_") || TheNames().of_tensors.contains(name) || FindTensorMethod(name) != nullptr) return true;
  absl::string_view plain = name;
  return IsThere(name) || (absl::ConsumeSuffix(&plain, "_") && IsThere(plain));
}

specializer::OutsideName LookUpTorchName(absl::string_view path) {
  specializer::OutsideName result;
  // From the outside in: the first part that torch does not have is what is missing.
  for (size_t end = path.find('.');; end = path.find('.', end + 1)) {
    const absl::string_view part = path.substr(0, end);
    absl::string_view last = part.substr(part.rfind('.') == absl::string_view::npos ? 0 : part.rfind('.') + 1);
    if (absl::StartsWith(last, "_")) return result;  // private: never listed
    absl::string_view plain = part;                  // abs_ is abs in place
    if (!IsThere(part) && !(absl::ConsumeSuffix(&plain, "_") && IsThere(plain))) {
      result.there = false;
      result.missing = std::string(part);
      break;
    }
    if (end == absl::string_view::npos) {
      result.dtype = TheNames().dtypes.contains(part);
      result.listed = !absl::StartsWith(part, "version.");
    }
    const bool listed = part == "nn" || part == "nn.functional" || part == "cuda" || part == "linalg" || part == "version";
    if (end == absl::string_view::npos || !listed) return result;
  }
  const size_t dot = result.missing.rfind('.');
  const std::string space = dot == std::string::npos ? "" : result.missing.substr(0, dot + 1);
  specializer::NearestName nearest(absl::string_view(result.missing).substr(space.size()));
  const auto offer = [&](absl::string_view name) {
    if (absl::ConsumePrefix(&name, space) && name.find('.') == absl::string_view::npos) nearest.Offer(name);
  };
  ForEachTorchName(offer);
  for (absl::string_view name : {"float16", "float32", "float64", "bfloat16", "int8", "int16", "int32", "int64", "uint8", "half", "long", "bool"}) offer(name);
  for (const absl::flat_hash_set<absl::string_view>* set : {&TheNames().names, &TheNames().open, &TheNames().dtypes}) {
    for (absl::string_view name : *set) offer(name);
  }
  result.nearest = nearest.name();
  return result;
}

}  // namespace tilevm::vm::host
