"""Tensors that are no dense array - sparse, nested, quantized - as what they are made of: dense ones."""

from __future__ import annotations

import torch

_COMPRESSED = {
    torch.sparse_csr: ("crow_indices", "col_indices"),
    torch.sparse_bsr: ("crow_indices", "col_indices"),
    torch.sparse_csc: ("ccol_indices", "row_indices"),
    torch.sparse_bsc: ("ccol_indices", "row_indices"),
}
_STORED_AS = {torch.qint8: torch.int8, torch.quint8: torch.uint8, torch.qint32: torch.int32}

# Operators that change only how the parts are put together, or compute on the values by others.
_SPARSE_WITHOUT_A_KERNEL = frozenset(
    """
    _coalesced_ _dimI _dimV _indices _nnz _sparse_coo_tensor_with_dims _sparse_coo_tensor_with_dims_and_tensors _values ccol_indices clone
    col_indices copy_ copy_sparse_to_sparse_ crow_indices dense_dim empty.memory_format empty_like indices is_coalesced permute
    resize_ resize_as_sparse_ row_indices sparse_dim sparse_resize_ sparse_resize_and_clear_ unsqueeze values zero_ zeros.out
    """.split()
)
_QUANTIZED_WITHOUT_A_KERNEL = frozenset(
    """
    _empty_affine_quantized _empty_per_channel_affine_quantized _reshape_alias as_strided empty.memory_format empty_like empty_quantized
    empty_strided q_per_channel_axis q_per_channel_scales q_per_channel_zero_points q_scale q_zero_point qscheme
    set_.source_Storage_storage_offset squeeze squeeze.dim squeeze.dims unfold unsqueeze view
    """.split()
)
# Operators on nested tensors with kernels of their own. The others compute on the values by operators for dense ones.
_NESTED_WITH_A_KERNEL = frozenset(
    """
    _native_multi_head_attention _nested_from_padded_and_nested_example _nested_tensor_softmax_with_shape _transform_bias_rescale_qkv
    _transformer_encoder_layer_fwd add.Tensor add_.Tensor bmm matmul matmul.out mul.Tensor mul_.Tensor native_layer_norm
    native_layer_norm_backward sub.Tensor to_padded_tensor
    """.split()
)

KEYS = ("SparseCUDA", "SparseCsrCUDA", "QuantizedCUDA", "NestedTensorCUDA")  # of the dispatcher


def has_a_kernel(name: str, key: str) -> bool:
    """Whether an operator that has a function under one of the keys runs kernels in it."""
    if key == "NestedTensorCUDA":
        return name in _NESTED_WITH_A_KERNEL
    return name not in (_QUANTIZED_WITHOUT_A_KERNEL if key == "QuantizedCUDA" else _SPARSE_WITHOUT_A_KERNEL)


def is_sparse(tensor: torch.Tensor) -> bool:
    return tensor.layout == torch.sparse_coo or tensor.layout in _COMPRESSED


def is_composed(tensor: torch.Tensor) -> bool:
    return tensor.is_quantized or tensor.is_nested or is_sparse(tensor)


def parts(tensor: torch.Tensor) -> list[torch.Tensor]:
    if tensor.is_quantized:
        return [_in_place(torch.empty(0, dtype=_STORED_AS[tensor.dtype], device=tensor.device), tensor)]
    if tensor.is_nested:
        return [tensor.values()]
    if tensor.layout == torch.sparse_coo:
        return [tensor._indices(), tensor._values()]
    return [*(getattr(tensor, name)() for name in _COMPRESSED[tensor.layout]), tensor.values()]


def of_parts(like: torch.Tensor, made_of: list[torch.Tensor]) -> torch.Tensor:
    """With the layout and the size of a tensor. The parts are not looked at: their bytes may not be there yet."""
    if like.is_quantized:
        return _in_place(_quantized(like, made_of[0].device), made_of[0])
    if like.is_nested:
        return torch._nested_view_from_buffer(
            made_of[0], like._nested_tensor_size(), like._nested_tensor_strides(), like._nested_tensor_storage_offsets()
        )
    if like.layout == torch.sparse_coo:
        how = {"is_coalesced": like.is_coalesced(), "check_invariants": False}
        return torch.sparse_coo_tensor(*made_of, like.size(), device=made_of[0].device, **how)
    return torch.sparse_compressed_tensor(*made_of, like.size(), layout=like.layout, device=made_of[0].device, check_invariants=False)


def _in_place(empty: torch.Tensor, of: torch.Tensor) -> torch.Tensor:
    """A tensor without elements, made one of the same memory as another."""
    return empty.set_(of.untyped_storage(), of.storage_offset(), of.size(), of.stride())


def _quantized(like: torch.Tensor, device: torch.device) -> torch.Tensor:
    how = {"dtype": like.dtype, "device": device}
    if like.qscheme() in (torch.per_tensor_affine, torch.per_tensor_symmetric):
        return torch._empty_affine_quantized([0], scale=like.q_scale(), zero_point=like.q_zero_point(), **how)
    scales, zero_points = like.q_per_channel_scales().to(device), like.q_per_channel_zero_points().to(device)
    axis = like.q_per_channel_axis()
    return torch._empty_per_channel_affine_quantized([0] * like.dim(), scales=scales, zero_points=zero_points, axis=axis, **how)
