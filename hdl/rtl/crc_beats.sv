// CRC-32 of IEEE 802.3 over beats of one to eight bytes, one beat per cycle. Shifting eight bytes through the
// CRC register is linear, so the result for a beat is the sum of the results for each of its bits: a table of
// 64 columns, generated here from the polynomial byte by byte.
//
// One table serves every number of bytes. n bytes give the same result as eight bytes with zeros in front,
// because zeros do not change a register that is zero. So data and CRC are shifted up by 8 - n bytes; the bytes
// of the CRC above n come out unchanged, n bytes lower.
//
//   data ──► shifted ──► table ──► part ─┐
//            CRC ──► shifted ──► table ──┴─► CRC        only the second half is in the loop
//
// `crc_o` includes a beat two cycles after it came. Bytes of a beat above `final_byte_i` may have any value.
//
// Rules (formal/crc_beats_rules.sv):
//   1 after each beat the CRC is what the polynomial of IEEE 802.3 gives for the bytes so far, bit by bit.
// Simulated against zlib in both MACs.
module crc_beats
  import tare_pkg::*;
(
    input  logic        clk_i,
    input  logic        step_i,
    input  logic        first_i,       // a new frame begins with this beat
    input  logic [2:0]  final_byte_i,
    input  logic [63:0] data_i,
    output logic [31:0] crc_o
);
  typedef logic [63:0][31:0] columns_t;

  // What remains of each bit after 64 steps.
  function automatic columns_t columns();
    columns_t table_;
    for (int unsigned bit_ = 0; bit_ < 64; bit_++) begin
      automatic logic [63:0] beat = 64'd1 << bit_;
      automatic logic [31:0] crc = '0;
      for (int unsigned byte_ = 0; byte_ < 8; byte_++) crc = crc_byte(crc, beat[8*byte_+:8]);
      table_[bit_] = crc;
    end
    return table_;
  endfunction

  localparam columns_t Columns = columns();

  function automatic logic [31:0] after(logic [63:0] beat);
    logic [31:0] crc;
    crc = '0;
    for (int unsigned bit_ = 0; bit_ < 64; bit_++) crc ^= beat[bit_] ? Columns[bit_] : '0;
    return crc;
  endfunction

  // How many bytes a beat is shifted up, and the part of the CRC above it.
  wire [5:0] up = {3'd7 - final_byte_i, 3'b0};

  logic step_q, first_q;
  logic [5:0] up_q;
  logic [31:0] part_q, crc_q;
  wire [31:0] old = first_q ? '1 : crc_q;
  wire [31:0] above = old >> (7'd64 - {1'b0, up_q});

  always_ff @(posedge clk_i) begin
    step_q  <= step_i;
    first_q <= first_i;
    up_q    <= up;
    part_q  <= after(data_i << up);
    if (step_q) crc_q <= after({32'b0, old} << up_q) ^ part_q ^ above;
  end

  assign crc_o = crc_q;
endmodule
