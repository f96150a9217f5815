# SPDX-License-Identifier: BSD-3-Clause
# A part of _core. Needs array.
#
# What the host reads of memory by address, without being told when that is freed: buffers, and
# arrays whose dict NumPy was told. As long as there are any, the memory is not freed, and its GPU's
# context not reset. Who lends counts first and looks then whether an end has begun; who ends says
# so first and looks then whether something is lent: of the two, at least one is refused.

@cython.final
@cython.internal
cdef class Loan:
    """The buffers and dicts lent of the memory of one owner."""

    cdef int64_t count
    cdef int32_t device_type  # of the context that has the memory
    cdef int32_t device_id
    cdef uint64_t address     # in the memory

    cdef bint goes_with(self, int32_t gpu) noexcept:
        return self.device_type != CAI_DEVICE_CPU and self.device_id in (gpu, -1)


# By the owner that keeps the uses of the memory; for libcai's memory that is the memory itself.
cdef dict loans = {}
cdef set frees_begun = set()     # the same
cdef list resets_begun = []      # numbers of GPUs whose contexts are being destroyed


cdef uint64_t lender_of(Array self) noexcept:
    """The owner whose memory is lent; 0 for memory that lives as long as the array."""
    cdef cai_owner *keeper = cai_py_keeper(self.owner)
    if self.array.device_type == CAI_DEVICE_CPU and cai_py_block_of(keeper) != NULL:
        return 0
    return <uint64_t>keeper


cdef int lend_memory(Array self) except -1:
    cdef uint64_t lender = lender_of(self)
    cdef Loan loan
    if lender == 0:
        return 0
    loan = loans.get(lender)
    if loan is None:
        loan = Loan.__new__(Loan)
        loan.device_type = self.array.device_type
        loan.device_id = self.array.device_id
        loan.address = self.array.data
        loans[lender] = loan
    loan.count += 1
    refusal = None
    if lender in frees_begun:
        refusal = "data: the memory is being freed"
    for gpu in resets_begun:
        if loan.goes_with(gpu):
            refusal = f"data: gpu:{gpu} is being reset, and its memory goes with it"
    if refusal is not None:
        take_memory_back(self)
        raise BufferError(refusal)
    return 0


cdef void take_memory_back(Array self) noexcept:
    cdef uint64_t lender = lender_of(self)
    cdef Loan loan
    if lender == 0:
        return
    loan = loans[lender]
    loan.count -= 1
    if loan.count == 0:
        del loans[lender]


def lend_all(Array array not None):
    """Lends all the memory that `array` is in, for a buffer; `take_all_back` ends it."""
    lend_memory(array)


def take_all_back(Array array not None):
    take_memory_back(array)


def begin_free(uint64_t memory):
    """Raises BufferError if the memory is lent, else prevents loans until `end_free`."""
    if memory in frees_begun:
        raise StateError("the memory was freed already: another thread is at it")
    frees_begun.add(memory)
    if memory in loans:
        frees_begun.discard(memory)
        raise BufferError(f"there are buffers in the memory: {(<Loan>loans[memory]).count}, of "
                          "memoryviews, of NumPy's arrays, or of arrays whose dict was asked for")


def end_free(uint64_t memory):
    frees_begun.discard(memory)


def begin_reset(int32_t gpu):
    """The same for the reset of a context, and `end_reset`."""
    cdef Loan loan
    resets_begun.append(gpu)
    lent = [loan for loan in list(loans.values()) if (<Loan>loan).goes_with(gpu)]
    if lent:
        resets_begun.remove(gpu)
        count = sum([(<Loan>loan).count for loan in lent])
        places = ", ".join([hex((<Loan>loan).address) for loan in lent[:4]])
        raise BufferError(
            f"gpu:{gpu} is not reset: there are buffers in its memory: {count}, around "
            f"{places}{', ...' if len(lent) > 4 else ''}")


def end_reset(int32_t gpu):
    resets_begun.remove(gpu)
