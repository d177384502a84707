// Counts values in block RAM, so that a run of any length takes the same room. The width of a bin is 1/32 of
// its values. Two sets of 1 024 bins share the logic that computes the bin.
//
//   value      bin                        width
//   0 … 31     the value                  1
//   32 … 63    32 + value - 32            1
//   64 … 127   64 + (value - 64) / 2      2
//   …
//   2^31 …     864 + …                    2^26
//
// For a value whose highest bit is at e >= 5, the bin is (e - 4) * 32 + the five bits below the highest. The
// user limits values to 2^32 - 1.
//
// A bin is read, incremented and written. That takes eight cycles, and a value can enter every four cycles. A
// value that comes sooner is counted in no bin, and `missed_o` reports it; frames on a wire are at least eight
// cycles apart. A bin stops at 255 * 2^24.
//
// The host reads and clears. The answer to `read_i` comes with `read_valid_o`; reads wait for values, values
// never wait for reads. `clear_i` empties all bins in 2 048 cycles; `missed_o` reports values that come
// meanwhile.
//
// Rules (formal/histogram_rules.sv):
//   1 a bin holds as many values as fell into it since the last clear, except those reported as missed;
//   2 a read returns that.
module histogram (
    input  logic        clk_i,
    input  logic        rst_ni,
    input  logic        valid_i,
    input  logic        set_i,
    input  logic [31:0] value_i,
    output logic        missed_o,
    input  logic        clear_i,
    input  logic        read_i,
    input  logic        read_set_i,
    input  logic [9:0]  read_bin_i,
    output logic        read_valid_o,
    output logic [31:0] read_o
);
  (* no_rw_check *) logic [31:0] counts[2048];

  // Pipeline stages that hold a value.
  logic [6:1] at_q;
  logic clearing_q, want_clear_q;
  logic [10:0] clear_bin_q;
  logic [1:0] reading_q;

  wire accept = valid_i && at_q[3:1] == 0 && !clearing_q && !want_clear_q;
  assign missed_o = valid_i && !accept;

  // Binary search for the highest bit: where the upper half is zero, the lower half replaces it. Only bits that
  // can still become part of the result are kept.
  logic [31:0] value_q;
  logic [20:0] upper_q;
  logic [8:0] part_q;
  logic [4:0] low1_q, low2_q;
  logic small1_q, small2_q;
  logic [1:0] not16_q;
  logic not8_q, not4_q;
  logic [4:1] set_q;
  logic [9:0] bin_q;

  wire not16 = value_q[31:16] != 0;
  wire not8 = upper_q[20:13] != 0;
  wire [12:0] upper8 = not8 ? upper_q[20:8] : upper_q[12:0];
  wire not4 = upper8[12:9] != 0;
  wire not2 = part_q[8:7] != 0;
  wire [6:0] part2 = not2 ? part_q[8:2] : part_q[6:0];
  wire [4:0] behind = part2[6] ? part2[5:1] : part2[4:0];
  wire [4:0] high = {not16_q[1], not8_q, not4_q, not2, part2[6]};

  // A value in the pipeline has priority at the memory's read port.
  wire start_read = read_i && !at_q[4] && reading_q == 0;
  wire [10:0] read_address = at_q[4] ? {set_q[4], bin_q} : {read_set_i, read_bin_i};
  logic [31:0] read1_q, read2_q;
  logic write_q, most_q;  // most_q: the bin has reached its limit
  logic [10:0] place5_q, place6_q, write_place_q;
  logic [31:0] write_data_q;

  always_ff @(posedge clk_i) begin
    if (write_q && !most_q) counts[write_place_q] <= write_data_q;
    read1_q <= counts[read_address];
    read2_q <= read1_q;
  end

  assign read_o = read2_q;
  assign read_valid_o = reading_q[1];

  always_ff @(posedge clk_i) begin
    at_q    <= {at_q[5:1], accept};
    set_q   <= {set_q[3:1], set_i};
    value_q <= value_i;

    upper_q    <= not16 ? value_q[31:11] : {value_q[15:0], 5'b0};
    not16_q[0] <= not16;
    small1_q   <= value_q[31:5] == 0;
    low1_q     <= value_q[4:0];

    part_q     <= not4 ? upper8[12:4] : upper8[8:0];
    not16_q[1] <= not16_q[0];
    not8_q     <= not8;
    not4_q     <= not4;
    small2_q   <= small1_q;
    low2_q     <= low1_q;

    bin_q <= small2_q ? {5'b0, low2_q} : {high - 5'd4, behind};

    place5_q <= read_address;
    place6_q <= place5_q;

    // A value that comes after a read has begun needs the port only later.
    reading_q <= {reading_q[0], start_read};

    write_q       <= at_q[6] || clearing_q;
    write_place_q <= clearing_q ? clear_bin_q : place6_q;
    write_data_q  <= clearing_q ? '0 : read2_q + 1'b1;
    most_q        <= !clearing_q && read2_q[31:24] == '1;

    if (clearing_q) begin
      clear_bin_q <= clear_bin_q + 1'b1;
      if (clear_bin_q == '1) clearing_q <= 1'b0;
    end
    if (clear_i) want_clear_q <= 1'b1;
    if (want_clear_q && at_q == 0) begin
      want_clear_q <= clear_i;
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
