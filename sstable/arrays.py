"""Names for the types of numpy arrays."""

from typing import TypeAlias

import numpy as np
import numpy.typing as npt

BoolArray: TypeAlias = npt.NDArray[np.bool_]
U8Array: TypeAlias = npt.NDArray[np.uint8]
U32Array: TypeAlias = npt.NDArray[np.uint32]
U64Array: TypeAlias = npt.NDArray[np.uint64]
IndexArray: TypeAlias = npt.NDArray[np.int64]
OffsetArray: TypeAlias = npt.NDArray[np.int32] | npt.NDArray[np.int64]
