// Rules of crc_beats, against the polynomial as IEEE 802.3 writes it: not reflected, bit by bit.
//
// The result for a beat is a sum (exclusive or) of the results for each bit of the beat and of the previous
// CRC. That holds in the module, which adds columns of a table, and here, where each step is a shift and a sum.
// So the result is right for all values if it is right for no bit and for each bit alone. That is what is
// proved, for each number of bytes, and for the first beat of a frame, which follows all ones.
module crc_beats_rules (
    input logic        clk_i,
    input logic        step_i,
    input logic        first_i,
    input logic [2:0]  final_byte_i,
    input logic [63:0] data_i,
    input logic [31:0] crc_o
);
  (* anyseq *) logic look;

  function automatic logic [31:0] crc_bits(logic [31:0] value, logic [63:0] data, logic [2:0] final_byte);
    logic [31:0] c;
    c = value;
    for (int i = 0; i < 64; i++) if (i / 8 <= 32'(final_byte)) c = {c[30:0], 1'b0} ^ ((c[31] ^ data[i]) ? 32'h04c1_1db7 : '0);
    return c;
  endfunction

  function automatic logic [31:0] reversed(logic [31:0] value);
    for (int i = 0; i < 32; i++) reversed[i] = value[31-i];
  endfunction

  logic begun_q = 1'b0, step_q = 1'b0, first_q, look_q = 1'b0, look2_q = 1'b0, still_q = 1'b0;
  logic [2:0] final_q;
  logic [63:0] data_q, mask;
  logic [31:0] expected_q, crc_q;
  always_comb for (int i = 0; i < 8; i++) mask[8*i+:8] = i <= 32'(final_byte_i) ? 8'hff : 8'h00;

  always_ff @(posedge clk_i) begin
    step_q  <= step_i;
    first_q <= first_i;
    final_q <= final_byte_i;
    data_q  <= data_i & mask;
    look_q  <= look && step_i;
    // The beat of the previous cycle.
    look2_q    <= look_q;
    expected_q <= reversed(crc_bits(first_q ? '1 : reversed(crc_o), data_q, final_q));
    begun_q    <= 1'b1;
    still_q    <= begun_q && !step_q;
    crc_q      <= crc_o;
  end

  // One bit, or none, of the beat and of the previous CRC.
  wire [95:0] bits = {first_q ? 32'b0 : crc_o, data_q};
  always_comb begin
    if (look_q) assume ((bits & (bits - 96'd1)) == 0);
    if (look2_q) rule_1_as_the_standard : assert (crc_o == expected_q);
    if (still_q) rule_1_nothing_else : assert (crc_o == crc_q);
    cover (look2_q && crc_o == 32'hedb8_8320);
  end
endmodule

bind crc_beats crc_beats_rules rules (.*);
