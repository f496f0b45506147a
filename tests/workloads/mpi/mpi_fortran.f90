! SPDX-License-Identifier: Apache-2.0
! A ring of messages and what all do together, through each of MPI's Fortran interfaces:
! -DMPIF_H, -DUSE_MPI or -DUSE_MPI_F08. Rank 0 prints what came out.
program mpi_fortran
#ifdef USE_MPI_F08
	use mpi_f08
	implicit none
	type(MPI_Request) :: requests(2)
	type(MPI_Status) :: status
#else
#ifdef USE_MPI
	use mpi
	implicit none
#else
	implicit none
	include 'mpif.h'
#endif
	integer :: requests(2), status(MPI_STATUS_SIZE)
#endif
	double precision :: own(32), other(32), total
	integer :: rank, ranks, next, last, i, code

	call MPI_Init(code)
	call MPI_Comm_rank(MPI_COMM_WORLD, rank, code)
	call MPI_Comm_size(MPI_COMM_WORLD, ranks, code)
	next = modulo(rank + 1, ranks)
	last = modulo(rank - 1, ranks)
	own = rank
	total = 0
	do i = 1, 5
		call MPI_Sendrecv(own, 10, MPI_DOUBLE_PRECISION, next, 1, other, 32, &
			MPI_DOUBLE_PRECISION, last, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE, code)
		call MPI_Irecv(other, 20, MPI_DOUBLE_PRECISION, last, 2, MPI_COMM_WORLD, requests(1), code)
		call MPI_Isend(own, 20, MPI_DOUBLE_PRECISION, next, 2, MPI_COMM_WORLD, requests(2), code)
		call MPI_Waitall(2, requests, MPI_STATUSES_IGNORE, code)
		if (modulo(rank, 2) == 0) then
			call MPI_Send(own, 7, MPI_DOUBLE_PRECISION, next, 3, MPI_COMM_WORLD, code)
			call MPI_Recv(other, 32, MPI_DOUBLE_PRECISION, last, 3, MPI_COMM_WORLD, status, code)
		else
			call MPI_Recv(other, 32, MPI_DOUBLE_PRECISION, MPI_ANY_SOURCE, 3, MPI_COMM_WORLD, status, code)
			call MPI_Send(own, 7, MPI_DOUBLE_PRECISION, next, 3, MPI_COMM_WORLD, code)
		end if
		total = total + other(1)
	end do
	own(1:2) = total
	call MPI_Allreduce(MPI_IN_PLACE, own, 2, MPI_DOUBLE_PRECISION, MPI_SUM, MPI_COMM_WORLD, code)
	call MPI_Iallreduce(own, other, 1, MPI_DOUBLE_PRECISION, MPI_SUM, MPI_COMM_WORLD, requests(1), code)
	call MPI_Wait(requests(1), MPI_STATUS_IGNORE, code)
	call MPI_Barrier(MPI_COMM_WORLD, code)
	if (rank == 0) print *, 'total', nint(own(1) + other(1))
	call MPI_Finalize(code)
end program
