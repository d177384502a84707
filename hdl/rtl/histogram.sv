// Counts values in block RAM, so that a run of any length takes the same room: bins as wide as 1/32 of their values.
//
//   value      bin                        width
//   0 … 31     the value                  1
//   32 … 63    32 + value - 32            1
//   64 … 127   64 + (value - 64) / 2      2
//   …
//   2^31 …     864 + …                    2^26
//
// That is, of a value with its highest bit at e >= 5, bin (e - 4) * 32 + the five bits after the highest. Values of 2^32 and more are in
// the last bin.
//
// A bin is read, made one larger, and written: six cycles from value to memory. A value that comes before the last one is done is not counted
// in a bin, and `missed_o` tells: frames are eight cycles apart or more, so that does not happen on a wire. A bin stops at 2^32 - 1.
//
// Reading and clearing are the host's: `read_i` has its answer when `read_valid_o` is high; it waits for values, and values do not wait for it.
// `clear_i` empties all bins in 1 024 cycles; values that come meanwhile are told by `missed_o`.
//
// Rules: 1 a bin holds as many values as fell in it since the last clear (simulated); 2 each value is in a bin or told as missed.
module histogram (
    input  logic        clk_i,
    input  logic        rst_ni,
    input  logic        valid_i,
    input  logic [63:0] value_i,
    output logic        missed_o,
    input  logic        clear_i,
    input  logic        read_i,
    input  logic [9:0]  read_bin_i,
    output logic        read_valid_o,
    output logic [31:0] read_o
);
  (* no_rw_check *) logic [31:0] counts[1024];

  // One value on its way: a one-hot of where it is.
  logic [5:1] at_q;
  logic [31:0] value_q, value2_q;
  logic [4:0] high_q;
  logic [9:0] bin_q;
  logic clearing_q;
  logic [9:0] clear_bin_q;
  logic [1:0] reading_q;
  logic want_clear_q;

  wire accept = valid_i && at_q == 0 && !clearing_q;
  assign missed_o = valid_i && !accept;

  function automatic logic [4:0] highest(logic [31:0] x);
    logic [4:0] h;
    h = '0;
    for (int i = 1; i < 32; i++) if (x[i]) h = 5'(i);
    return h;
  endfunction

  wire [31:0] shifted = value2_q >> (high_q - 5'd5);

  // The memory's read port belongs to the value on its way; the host has it otherwise.
  wire start_read = read_i && at_q == 0 && !valid_i && reading_q == 0;
  logic [9:0] read_address;
  assign read_address = at_q[3] ? bin_q : read_bin_i;
  logic [31:0] read1_q, read2_q;
  logic write_q;
  logic [9:0] write_bin_q;
  logic [31:0] write_data_q;

  always_ff @(posedge clk_i) begin
    if (write_q) counts[write_bin_q] <= write_data_q;
    read1_q <= counts[read_address];
    read2_q <= read1_q;
  end

  assign read_o = read2_q;
  assign read_valid_o = reading_q[1];

  always_ff @(posedge clk_i) begin
    at_q     <= {at_q[4:1], accept};
    value_q  <= value_i[63:32] != 0 ? '1 : value_i[31:0];
    high_q   <= highest(value_q);
    value2_q <= value_q;
    if (at_q[2]) bin_q <= value2_q[31:5] == 0 ? 10'(value2_q[4:0]) : {high_q - 5'd4, shifted[4:0]};

    // A value that comes after a read began needs the port later than that.
    reading_q <= {reading_q[0], start_read};

    write_q      <= at_q[5] || clearing_q;
    write_bin_q  <= clearing_q ? clear_bin_q : bin_q;
    write_data_q <= clearing_q ? '0 : read2_q == '1 ? '1 : read2_q + 1'b1;

    if (clearing_q) begin
      clear_bin_q <= clear_bin_q + 1'b1;
      if (clear_bin_q == '1) clearing_q <= 1'b0;
    end
    if (clear_i) want_clear_q <= 1'b1;
    if (want_clear_q && at_q == 0 && !accept) begin
      want_clear_q <= 1'b0;
      clearing_q   <= 1'b1;
      clear_bin_q  <= '0;
    end
    if (!rst_ni) begin
      at_q         <= '0;
      write_q      <= 1'b0;
      reading_q    <= '0;
      want_clear_q <= 1'b0;
      clearing_q   <= 1'b1;
      clear_bin_q  <= '0;
    end
  end
endmodule
