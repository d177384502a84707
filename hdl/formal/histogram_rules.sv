// Rules of histogram. The solver chooses one bin, which is watched. It holds as many values as fell into it
// since it was cleared, except those reported as missed. So no value is lost: each is in its own bin, or
// reported.
//
// The proof starts when all bins have been cleared after a reset, which takes 2 048 cycles. Further resets may
// follow. Fewer than 254 * 2^24 values are assumed; a bin stops at 255 * 2^24.
module histogram_rules (
    input logic        clk_i,
    input logic        rst_ni,
    input logic        valid_i,
    input logic        set_i,
    input logic [31:0] value_i,
    input logic        clear_i,
    input logic        read_i,
    input logic        read_set_i,
    input logic [9:0]  read_bin_i
);
  logic missed, read_valid;
  logic [31:0] read;

  histogram one (
      .clk_i,
      .rst_ni,
      .valid_i,
      .set_i,
      .value_i,
      .missed_o    (missed),
      .clear_i,
      .read_i,
      .read_set_i,
      .read_bin_i,
      .read_valid_o(read_valid),
      .read_o      (read)
  );

  logic [10:0] watched;
  always_ff @(posedge clk_i) watched <= watched;
  wire [31:0] counted = one.counts[watched];

  // The bin of a value, by the formula in histogram.sv.
  function automatic logic [9:0] bin_of(logic [31:0] value);
    bin_of = 10'(value);
    for (int unsigned e = 5; e < 32; e++) if (32'(value >> e) == 1) bin_of = 10'((e - 4) * 32) + 10'(5'(value >> (e - 5)));
  endfunction

  // Values that fell into the bin, and which of the last seven did.
  wire falls = valid_i && !missed && {set_i, bin_of(value_i)} == watched;
  logic [31:0] want;
  logic [7:1] came, any;
  logic begun_q = 1'b0;
  logic [2:1] asked;
  logic [2:1][31:0] counted_then;
  wire starts_clear = one.want_clear_q && one.at_q == 0;
  always_ff @(posedge clk_i) begin
    begun_q      <= 1'b1;
    want         <= want + 32'(falls);
    came         <= {came[6:1], falls};
    any          <= {any[6:1], valid_i && !missed};
    asked        <= {asked[1], read_i && !one.at_q[4] && one.reading_q == 0 && {read_set_i, read_bin_i} == watched};
    counted_then <= {counted_then[1], counted};
    if (starts_clear) want <= '0;
    if (!rst_ni) begin
      want  <= '0;
      came  <= '0;
      any   <= '0;
      asked <= '0;
    end
  end

  // The bin's value after a write in progress.
  wire writes = one.write_q && one.write_place_q == watched;
  wire [31:0] soon = writes && !one.most_q ? one.write_data_q : counted;
  logic [2:0] pending;
  logic spaced;
  always_comb begin
    pending = '0;
    spaced  = 1'b1;
    for (int unsigned i = 1; i <= 6; i++) begin
      pending = pending + 3'(came[i]);
      for (int unsigned j = 1; j <= 3; j++) if (i + j <= 7 && any[i] && any[i+j]) spaced = 1'b0;
    end
  end

  always_comb begin
    assume (want < 32'hfe00_0000);
    if (!begun_q) begin
      assume (rst_ni && one.at_q == 0 && !one.write_q && !one.clearing_q && !one.want_clear_q && one.reading_q == 0 && counted == 0);
      assume (want == 0 && came == 0 && any == 0 && asked == 0);
    end
    if (begun_q) begin
      if (!one.clearing_q && !one.write_q && any == 0) rule_1_none_lost : assert (counted == want);
      if (asked[2] && rst_ni) rule_2_read : assert (read_valid && read == counted_then[2]);

      // Meaning of the registers.
      assert (one.at_q == any[6:1] && spaced && (came & ~any) == 0);
      if (!one.clearing_q) assert (soon + 32'(pending) == want && soon <= want);
      if (one.clearing_q) assert (want == 0 && any[6:1] == 0);
      if (one.clearing_q && one.clear_bin_q > watched) assert (soon == 0);
      if (any[4]) assert (({one.set_q[4], one.bin_q} == watched) == came[4]);
      if (any[5]) assert ((one.place5_q == watched) == came[5]);
      if (any[6]) assert ((one.place6_q == watched) == came[6]);
      if (came[5]) assert (one.read1_q == counted);
      if (came[6]) assert (one.read2_q == counted);
      if (any[7]) assert (one.write_q && (one.write_place_q == watched) == came[7]);
      if (came[7]) assert (one.write_data_q == counted + 1 && !one.most_q);
      if (one.write_q && !any[7]) assert (one.write_data_q == 0 && !one.most_q && any[6:4] == 0);
    end

    cover (begun_q && !one.clearing_q && want == 2 && counted == 2 && watched[9:0] > 64 && watched[10]);
  end
endmodule
