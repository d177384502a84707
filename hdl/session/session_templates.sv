// What requests are made of: templates, which take turns, and a field of eight digits in each, with the number
// of the departure or a random one.
module session_templates
  import session_engine_pkg::*;
(
    input  logic            clk_i,
    input  logic            rst_ni,
    input  load_t           load_i,
    input  logic            start_i,
    // The host writes them before a load starts.
    input  logic            byte_write_i,
    input  place_t          byte_place_i,
    input  logic [7:0]      byte_i,
    input  logic            entry_write_i,
    input  template_t       entry_place_i,
    input  template_entry_t entry_i,
    // The text: of the place two reads ago.
    input  logic            read_i,
    input  place_t          place_i,
    output logic [7:0]      byte_o,
    // The template of a request, and the digits for one that departs now.
    input  template_t       template_i,
    output template_entry_t entry_o,
    output logic [7:0][3:0] digits_o,
    // Whose turn it is, until a request was made of it.
    output template_t       next_o,
    input  logic            made_i
);
  (* no_rw_check *)
  logic [7:0] bytes[4096];
  logic [7:0] fetched_q;
  always_ff @(posedge clk_i) begin
    if (byte_write_i) bytes[byte_place_i] <= byte_i;
    if (read_i) begin
      fetched_q <= bytes[place_i];
      byte_o    <= fetched_q;
    end
  end
  template_entry_t entries[64];
  always_ff @(posedge clk_i) if (entry_write_i) entries[entry_place_i] <= entry_i;
  assign entry_o = entries[template_i];

  logic [7:0][3:0] number_q;
  logic [31:0] random_q;
  assign digits_o = entry_o.field == FieldSequence ? number_q : random_q;
  function automatic logic [7:0][3:0] counted_up(input logic [7:0][3:0] digits);
    logic [7:0][3:0] up;
    logic carry;
    up = digits;
    carry = 1'b1;
    for (int unsigned place = 0; place < 8; place++) begin
      if (carry) up[place] = digits[place] == 4'd9 ? 4'd0 : digits[place] + 4'd1;
      carry = carry && digits[place] == 4'd9;
    end
    return up;
  endfunction

  always_ff @(posedge clk_i) begin
    // Galois: x^32 + x^22 + x^2 + x + 1.
    random_q <= {1'b0, random_q[31:1]} ^ (random_q[0] ? 32'h8020_0003 : '0);
    if (start_i) random_q <= load_i.secret | 32'd1;
    if (made_i) begin
      number_q <= counted_up(number_q);
      next_o   <= 7'(next_o) + 7'd1 >= load_i.templates ? '0 : next_o + 6'd1;
    end
    if (!rst_ni) begin
      number_q <= '0;
      next_o   <= '0;
    end
  end
endmodule
